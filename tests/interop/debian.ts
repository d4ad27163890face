/** Programs of Debian's packages, which npm does not bring. */

const SKIP = "BLOCKSWEEP_INTEROP_SKIP_DEBIAN";
const skipped = (Deno.env.get(SKIP) ?? "") !== "";

/** A test that needs Debian's packages: it fails without them, unless skipping was requested. */
export function debianTest(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  Deno.test({ name: skipped ? `${name} (skipped: ${SKIP} is set)` : name, ignore: skipped, fn });
}

/**
 * Fails where a program is missing.
 *
 * @param path Where its package puts it.
 * @throws Error that says how to install it.
 */
export async function requireProgram(path: string): Promise<void> {
  try {
    await Deno.stat(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error(
      `Cannot find ${path}: run "apt-get install qstat minetest-server zsh fish", ` +
        `or set ${SKIP}=1 to go without`,
    );
  }
}
