/** Writes the npm package into `npm/`, for `deno task npm`. */
import { bundleProgram } from "./bundle.ts";
import { writeDeclarations } from "./declarations.ts";
import { commandFlags, packageJson } from "./manifest.ts";
import { PACKAGE, ROOT, writePackageFile } from "./project.ts";

const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`;

await Deno.remove(PACKAGE, { recursive: true }).catch(() => {});
await Deno.mkdir(new URL("bin/", PACKAGE), { recursive: true });
const bundles = await bundleProgram();
await writeDeclarations();
await writePackageFile("package.json", json(packageJson(bundles)));
await writePackageFile("bin/flags.json", json(commandFlags()));
const FILES = ["README.md", "CHANGELOG.md", "LICENSE", "install/npm/THIRD_PARTY_LICENSES"];
for (const path of FILES) {
  await Deno.copyFile(new URL(path, ROOT), new URL(path.replace(/^.*\//, ""), PACKAGE));
}
const launcher = new URL("bin/blocksweep.js", PACKAGE);
await Deno.copyFile(new URL("blocksweep.js", import.meta.url), launcher);
await Deno.chmod(launcher, 0o755);
