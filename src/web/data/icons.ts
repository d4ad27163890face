/**
 * Reads the icons of servers.
 *
 * @module
 */
import { type Database, hexColumn, isInList, listValue } from "../../store/database/database.ts";

/** The signature of PNG files, and the length and name of their first chunk, IHDR. */
const START = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52];
/** Maximum width and height, pixels. */
const MAX_PIXELS = 128;
/** Length of the start of a file up to the end of IHDR. */
const HEAD = START.length + 13 + 4;

/**
 * The icon with a hash; `undefined`: there is none, or it is not a PNG file of at most 128 × 128
 * pixels.
 *
 * @param hash SHA-256, hexadecimal.
 */
export async function readIcon(database: Database, hash: string): Promise<Uint8Array | undefined> {
  const sql = `select ${hexColumn(database, "data")} as data from favicons where hash = ?`;
  const [row] = await database.rows(sql, [hash]);
  if (row === undefined) return undefined;
  const bytes = Uint8Array.fromHex(String(row.data));
  return isSmallPng(bytes) ? bytes : undefined;
}

/** Those of the hashes for which {@linkcode readIcon} has an icon, by the starts of the files. */
export async function iconsAmong(
  database: Database,
  hashes: readonly string[],
): Promise<ReadonlySet<string>> {
  if (hashes.length === 0) return new Set();
  const rows = await database.rows(
    `select hash, ${hexColumn(database, `substr(data, 1, ${HEAD})`)} as head from favicons ` +
      `where ${isInList(database, "hash", "text")} and length(data) >= ${HEAD}`,
    [listValue(database, [...new Set(hashes)])],
  );
  const shown = rows.filter(({ head }) => isSmallPng(Uint8Array.fromHex(String(head))));
  return new Set(shown.map(({ hash }) => String(hash)));
}

/** Whether bytes are a PNG file of at most 128 × 128 pixels, by its signature and its header. */
export function isSmallPng(bytes: Uint8Array): boolean {
  if (bytes.length < HEAD || START.some((byte, i) => bytes[i] !== byte)) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  return width >= 1 && width <= MAX_PIXELS && height >= 1 && height <= MAX_PIXELS;
}
