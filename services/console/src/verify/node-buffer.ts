/** The bytes of Node, which the folds use, in a browser. Import it before them. */
import { Buffer } from 'buffer';

globalThis.Buffer = Buffer;
