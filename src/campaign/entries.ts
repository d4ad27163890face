/**
 * Reads entries of buckets. Every program with access to NATS may have written them.
 *
 * @module
 */
import { FieldError } from "../core/checked_values.ts";
import type { KvEntry } from "./nats/client_types.ts";

/** Receives a line for each entry that is skipped. */
export type ReportSkipped = (line: string) => void;

/** For entries that the status of the campaign has reported before. */
export const IGNORED: ReportSkipped = () => {};

/**
 * Reads an entry. An invalid one is reported, and skipped: it must not hide the others.
 *
 * @param bucket The name of the bucket.
 * @param read Throws FieldError for an invalid key or value.
 */
export function readEntry<T>(
  bucket: string,
  { key }: Pick<KvEntry, "key">,
  read: () => T,
  report: ReportSkipped,
): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    const [why] = error.message.split("\n", 1);
    report(`the key ${JSON.stringify(key)} of ${bucket} is skipped: ${why}`);
    return undefined;
  }
}
