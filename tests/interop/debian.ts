/** Programs of Debian's packages, which are not available from npm. */

const SKIP = "BLOCKSWEEP_INTEROP_SKIP_DEBIAN";
const skipped = (Deno.env.get(SKIP) ?? "") !== "";

/** A test that needs Debian's packages. It fails without them, unless skipping was requested. */
export function debianTest(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  Deno.test({ name: skipped ? `${name} (skipped: ${SKIP} is set)` : name, ignore: skipped, fn });
}

/**
 * Fails if a program is missing.
 *
 * @param path The path where the package installs the program.
 * @throws Error that names the command to install the program.
 */
export async function requireProgram(path: string): Promise<void> {
  try {
    await Deno.stat(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error(
      `Cannot find ${path}: run "apt-get install openssl qstat minetest-server zsh fish prometheus", ` +
        `or set ${SKIP}=1 to go without`,
    );
  }
}
