/**
 * The columns that a server's name fills, alike in all protocols.
 *
 * @module
 */
import type { ServerRecord } from "../core/record.ts";
import { plainText } from "../core/text.ts";

/** The columns of a name, as sent with formatting codes; `null` or empty: there is none. */
export function nameColumns(
  motd: string | null,
): Pick<ServerRecord, "name" | "motd" | "motd_plain"> {
  const plain = plainText(motd ?? "") || null;
  return { name: plain, motd: motd || null, motd_plain: plain };
}
