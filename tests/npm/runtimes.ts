/** The runtimes in which the package is tested, in a project of a user. */
import { outputIn } from "./installed.ts";

/** The versions of Node in which the package is tested: the oldest that it supports, and a newer one. */
const NODE_VERSIONS = [20, 24];

/** The path of a version of Node: the machine's, or that of the package `node` of the registry. */
async function nodePath(folder: string, version: number): Promise<string> {
  const own = await outputIn(folder, "node", "--version");
  if (own.startsWith(`v${version}.`)) return "node";
  // The package is outside of the project, because npx would start the command with its Node.
  const prefix = `${folder}/node${version}`;
  await Deno.mkdir(prefix, { recursive: true });
  await Deno.writeTextFile(`${prefix}/package.json`, '{ "private": true }\n');
  await outputIn(prefix, "npm", "install", "--silent", "--prefer-offline", `node@${version}`);
  return `${prefix}/node_modules/.bin/node`;
}

/**
 * How each runtime runs a program, by its name.
 *
 * @param folder The project, with the package, Deno and Bun.
 */
export async function runtimesIn(
  folder: string,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const bin = `${folder}/node_modules/.bin`;
  const runtimes: Record<string, readonly string[]> = {};
  for (const version of NODE_VERSIONS) {
    runtimes[`Node ${version}`] = [await nodePath(folder, version)];
  }
  runtimes.Bun = [`${bin}/bun`, "run"];
  runtimes.Deno = [`${bin}/deno`, "run", "--quiet", "--no-prompt"];
  return runtimes;
}
