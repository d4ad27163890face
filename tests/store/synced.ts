/** Records which files are synced. */

/**
 * Replaces the sync methods of files, and records the inodes of synced files.
 *
 * @param onSync Called before each sync.
 */
export async function syncedBy(
  work: () => Promise<unknown>,
  onSync: () => Promise<void> = () => Promise.resolve(),
): Promise<unknown[]> {
  const { sync } = Deno.FsFile.prototype;
  const synced: unknown[] = [];
  Deno.FsFile.prototype.sync = async function () {
    synced.push((await this.stat()).ino);
    await onSync();
    await sync.call(this);
  };
  try {
    await work();
  } finally {
    Deno.FsFile.prototype.sync = sync;
  }
  return synced;
}
