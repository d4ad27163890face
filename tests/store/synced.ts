/** Files that are handed on to the disk. */

/**
 * The inodes of files that are synced meanwhile.
 *
 * @param onSync Called at each of them, before it is synced.
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
