// deno-lint-ignore-file no-console
/** Prints the packages of the program as a CycloneDX document: `deno task sbom`. */

const ROOT = new URL("../", import.meta.url);
const read = async (path: string) => JSON.parse(await Deno.readTextFile(new URL(path, ROOT)));
const [{ name, version, license }, lock] = [await read("deno.json"), await read("deno.lock")];

/** The entries of the lock file for the packages that modules import, and all that these need. */
const found = new Set<string>();

function add(id: string): void {
  if (found.has(id)) return;
  found.add(id);
  for (const dependency of lock.npm[id].dependencies ?? []) {
    const entries = Object.keys(lock.npm);
    add(
      entries.find((one) => one === dependency) ??
        entries.find((one) => one.startsWith(`${dependency}@`))!,
    );
  }
}

for (const path of ["main.ts", "install/compiled_packages.ts"]) {
  const args = ["info", "--json", "--frozen", path];
  const { success, stdout } = await new Deno.Command("deno", { args, cwd: ROOT }).output();
  if (!success) throw new Error(`deno info ${path} failed`);
  const { modules } = JSON.parse(new TextDecoder().decode(stdout));
  for (const { npmPackage } of modules) if (npmPackage !== undefined) add(npmPackage);
}

const components = [...found].sort().map((id) => {
  const [, name, version] = /^(@?[^@]+)@([^_]+)/.exec(id)!;
  const sum = lock.npm[id].integrity.replace(/^sha512-/, "");
  return {
    type: "library",
    name,
    version,
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    hashes: [{ alg: "SHA-512", content: Uint8Array.fromBase64(sum).toHex() }],
  };
});
const program = { type: "application", name, version, licenses: [{ license: { id: license } }] };
const document = {
  bomFormat: "CycloneDX",
  specVersion: "1.6",
  version: 1,
  metadata: { component: program },
  components,
};
console.log(JSON.stringify(document, null, 2));
