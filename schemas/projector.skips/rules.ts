/** The rules of the event of `projector.skips`. */
import { COUNT, HASH, text, TIME, type TopicRules } from '../rules.ts';
import type { RecordSkipped } from './events.ts';

const NAME_TEXT = text(300);
const LONG_TEXT = text(1_000_000);

export const SKIP_RULES: TopicRules<RecordSkipped> = {
  RecordSkipped: {
    fields: {
      projection: NAME_TEXT,
      topic: NAME_TEXT,
      partition: COUNT,
      record_offset: COUNT,
      fingerprint: HASH,
      error: LONG_TEXT,
      actor: LONG_TEXT,
      reason: LONG_TEXT,
      decided_at: TIME,
    },
  },
};
