/** The package's package.json, and the permissions of each command. */
import { type Bundles, UNSTABLE_FLAGS } from "./bundle.ts";
import { LIBRARY, NODE_ENTRY, PROJECT } from "./project.ts";

/** What the package's package.json contains. */
export function packageJson({ dependencies, programs }: Bundles): object {
  const { version, license } = PROJECT;
  return {
    name: "blocksweep",
    version,
    description: "Finds game servers in address ranges and on the LAN, and reads their status",
    keywords: [
      ...["minecraft", "bedrock", "raknet", "nethernet", "server", "scanner"],
      ...["motd", "query", "lan"],
    ],
    license,
    type: "module",
    // Loading any other module has no effects, so that bundlers can leave out what is not used.
    sideEffects: programs,
    engines: { node: ">=20.16" },
    bin: { blocksweep: "bin/blocksweep.js" },
    files: ["bin", "lib", "types", "CHANGELOG.md", "THIRD_PARTY_LICENSES"],
    exports: Object.fromEntries(LIBRARY.map(({ subpath, path, needsDeno }) => {
      const module = { types: `./types/${path}.d.ts`, default: `./lib/${path}.js` };
      if (!needsDeno) return [subpath, module];
      const file = `./lib/${path}.node.js`;
      const types = subpath === "." ? { types: `./types/${NODE_ENTRY}.d.ts` } : {};
      return [subpath, { deno: module, default: { ...types, default: file } }];
    })),
    dependencies,
  };
}

/** The flags of a task that runs the program, by the name of the task. */
function taskFlags(): Map<string, string[]> {
  return new Map(
    Object.entries(PROJECT.tasks).flatMap(([name, { command = "" }]) => {
      const [, flags] = /^deno run (.*) main\.ts [\w-]+$/.exec(command) ?? [];
      return flags === undefined ? [] : [[name, flags.split(" ")]];
    }),
  );
}

/** The flags of Deno for each command, as in the tasks; the launcher reads them. */
export function commandFlags(): object {
  const flags = taskFlags();
  const { scan = [], fast = [], ...commands } = Object.fromEntries(flags);
  return {
    /** Of all commands. Neither the user's configuration nor lock file is read. */
    always: ["--no-config", "--no-lock", "--node-modules-dir=manual", ...UNSTABLE_FLAGS],
    /** Of commands without a task, which need no permission. */
    others: ["--quiet", "--no-prompt"],
    /** Also of a scan with a fast engine, and of a large fleet. */
    fast: fast.filter((flag) => !scan.includes(flag)),
    commands: { scan, ...commands },
  };
}
