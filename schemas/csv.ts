/** Texts of CSV that a spreadsheet computes when it opens the file (OWASP, CSV injection). */

/** Begins like a formula, also in quotes; an apostrophe before it keeps it a text. */
export const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
/** Begins like a formula, and is a number. */
export const SIGNED_NUMBER = /^[+-][0-9]+(?:[.][0-9]+)?$/;
