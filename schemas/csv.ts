/** Texts of CSV that a spreadsheet computes when it opens the file (OWASP, CSV injection). */

/** Such a text, in quotes or not, unless it is a signed number: an apostrophe is put before it. */
export const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
export const SIGNED_NUMBER = /^[+-][0-9]+(?:[.][0-9]+)?$/;
