/**
 * The width of text on a terminal, in columns.
 *
 * @module
 */

/** Combining marks without a width; spacing marks (Mc) take a column of their own. */
const MARK = /^[\p{Mn}\p{Me}]$/u;
/** East Asian wide characters (Unicode, EastAsianWidth), and emoji. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]$/u;
/** Regional indicators: two of them form a flag, as wide as one emoji. */
const FLAG_LETTER = /^[\u{1f1e6}-\u{1f1ff}]$/u;
/** More than three combining marks on one character. No script needs as many. */
const EXCESS_MARKS = /(\p{M}{3})\p{M}+/gu;
/** The emoji variation selector, for which terminals disagree on the width. */
const EMOJI_SELECTOR = /\ufe0f/g;

/** Width of a character, columns. */
function widthOf(character: string): number {
  if (character >= " " && character <= "~") return 1;
  if (MARK.test(character)) return 0;
  return WIDE.test(character) && !FLAG_LETTER.test(character) ? 2 : 1;
}

/** Width of a text without control characters, columns. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

/** Fits a text to an exact width: cut with an ellipsis, or padded with spaces. */
export function fitWidth(text: string, columns: number): string {
  const fitting = cutWidth(text, columns);
  return fitting + " ".repeat(columns - displayWidth(fitting));
}

/** Cuts a text that is wider than some columns: the text then ends with an ellipsis. */
export function cutWidth(text: string, columns: number): string {
  let [fitting, width] = ["", 0];
  // Ordinary text has at most 8 UTF-16 units per column. The rest of a longer text is not
  // processed, because untrusted hosts may send texts of any length.
  const short = text.slice(0, 8 * columns).replace(EMOJI_SELECTOR, "").replace(EXCESS_MARKS, "$1");
  for (const character of short) {
    const more = widthOf(character);
    if (width + more > columns) return withEllipsis(fitting, columns);
    fitting += character;
    width += more;
  }
  return fitting;
}

function withEllipsis(text: string, columns: number): string {
  if (columns === 0) return "";
  const characters = [...text];
  let width = displayWidth(text);
  while (width > columns - 1) width -= widthOf(characters.pop()!);
  return `${characters.join("")}…`;
}
