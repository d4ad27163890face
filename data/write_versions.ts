/**
 * Writes data/versions.json: the names of versions by protocol number, in release order.
 *
 *     npm pack minecraft-data@latest && tar xzf minecraft-data-*.tgz
 *     deno run --allow-read=package --allow-write=data data/write_versions.ts package
 *
 * The package (PrismarineJS, licence MIT) names one version for each number of Bedrock. `MORE` has
 * the others. Numbers of Java before 1.7 are left out: later snapshots use them again.
 */

/** An entry of the package's lists, which begin with the newest version. */
interface Entry {
  readonly minecraftVersion: string;
  readonly version: number;
  readonly usesNetty?: boolean;
}

/** Versions of Bedrock that the package does not name, by number; sources: docs/protocols.md. */
const MORE: readonly (readonly [number: number, names: readonly string[]])[] = [
  [2168, ["1.26.40"]],
  [2169, ["1.26.45"]],
  [2193, ["1.26.50", "1.26.51", "1.26.52"]],
  [2225, ["1.26.60"]],
];

const FILE = new URL("versions.json", import.meta.url);

async function entriesOf(folder: string, edition: "pc" | "bedrock"): Promise<Entry[]> {
  const path = `${folder}/minecraft-data/data/${edition}/common/protocolVersions.json`;
  return (JSON.parse(await Deno.readTextFile(path)) as Entry[]).reverse();
}

/** Lines in release order: a number, and the names of successive versions that have it. */
function linesOf(entries: readonly Entry[], more: typeof MORE = []): string[] {
  const lines: [number: number, names: readonly string[]][] = [];
  for (const { version, minecraftVersion } of entries) {
    const names = lines.at(-1)?.[0] === version ? lines.pop()![1] : [];
    lines.push([version, [...names, minecraftVersion]]);
  }
  const known = lines.filter(([number]) => !more.some(([other]) => other === number));
  const all = more.length === 0 ? known : [...known, ...more].sort(([a], [b]) => a - b);
  return all.map(([number, names]) => [number, ...names].join(" "));
}

if (import.meta.main) {
  const [folder] = Deno.args;
  if (folder === undefined) {
    throw new TypeError("expected an argument: the folder of the unpacked package minecraft-data");
  }
  const { version } = JSON.parse(await Deno.readTextFile(`${folder}/package.json`));
  const java = (await entriesOf(folder, "pc")).filter(({ usesNetty }) => usesNetty === true);
  const bedrock = await entriesOf(folder, "bedrock");
  const table = {
    source: `npm:minecraft-data@${version}, data/*/common/protocolVersions.json (licence MIT)`,
    java: linesOf(java),
    bedrock: linesOf(bedrock, MORE),
  };
  await Deno.writeTextFile(FILE, `${JSON.stringify(table, null, 2)}\n`);
}
