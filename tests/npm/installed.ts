/** The npm package that `deno task npm` wrote, installed as a user does it. */
import { assertEquals } from "@std/assert";
import { ENVIRONMENT, finish, type Finished } from "../cli/program.ts";

/** The repository's folder. */
export const ROOT = new URL("../../", import.meta.url);
/** The version of the project. */
export const { version: VERSION, exports: EXPORTS } = JSON.parse(
  await Deno.readTextFile(new URL("deno.json", ROOT)),
) as { version: string; exports: Record<string, string> };

/** The environment of a user: npm prints no advice, and sets no variables of an outer npm. */
const USER = { ...ENVIRONMENT, npm_config_fund: "false", npm_config_audit: "false" };

/** Runs a program to its end. */
export function runIn(
  cwd: string,
  [program, ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const options = { args, cwd, env: { ...USER, ...env } } as const;
  return finish(
    new Deno.Command(program, { ...options, stdout: "piped", stderr: "piped", stdin: "null" })
      .spawn(),
  );
}

/** Runs a program that has to end with exit code 0; returns what it writes to standard output. */
export async function outputIn(cwd: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await runIn(cwd, words);
  assertEquals(code, 0, `${words.join(" ")}: ${stderr}`);
  return stdout;
}

/** A new project of a user that has the package, Bun and TypeScript. */
export async function installPackage(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "blocksweep-npm-" });
  addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  await outputIn(`${ROOT.pathname}npm`, "npm", "pack", "--silent", "--pack-destination", folder);
  await Deno.writeTextFile(`${folder}/package.json`, '{ "private": true, "type": "module" }\n');
  const packages = [`./blocksweep-${VERSION}.tgz`, "bun@1.4.5", "typescript@6.0.3"];
  await outputIn(folder, "npm", "install", "--silent", "--prefer-offline", ...packages);
  return folder;
}
