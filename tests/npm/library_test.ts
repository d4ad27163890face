/** The library in the npm package, which install/npm/ builds: in Node, Bun and Deno. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { GOLDEN } from "../golden/mod.ts";
import { EXPORTS, installPackage, outputIn, ROOT, runIn } from "./installed.ts";
import { runtimesIn } from "./runtimes.ts";

const FOLDER = await installPackage();
const BIN = `${FOLDER}/node_modules/.bin`;
/** How each runtime runs a program. */
const RUNTIMES = await runtimesIn(FOLDER);

/** The modules of the library that need Deno, or have only some of their functions in Node and Bun. */
const NEED_DENO = ["blocksweep", "blocksweep/scan", "blocksweep/store", "blocksweep/testing"];
const MODULES = Object.keys(EXPORTS).map((subpath) => `blocksweep${subpath.slice(1)}`);
const PURE = MODULES.filter((name) => !NEED_DENO.includes(name));

/** Runs a program in a runtime. */
async function run(runtime: string, code: string, flags: readonly string[] = []) {
  const path = `${FOLDER}/${crypto.randomUUID()}.mjs`;
  await Deno.writeTextFile(path, code);
  return await runIn(FOLDER, [...RUNTIMES[runtime], ...flags, path]);
}

/** A program that uses pure modules, in a few lines. */
const PROGRAM = `
import { decodeAdvertisement, decodePong, encodePong } from "blocksweep/protocols/raknet";
import { plainText } from "blocksweep/protocols";
import { formatAddress, parseAddress } from "blocksweep/targets";
import { FIELDS, type ServerRecord } from "blocksweep/records";
import { query, type QueryOptions } from "blocksweep";

const text = new TextEncoder().encode("MCPE;§aMy server;766;1.21.50;3;20;1;world;Survival;");
const pong = encodePong({ advertise: false, time: 7n, guid: 1n, text });
const status = decodeAdvertisement(decodePong(pong)!.text!);
const row: Pick<ServerRecord, "host"> = { host: formatAddress(parseAddress("10.0.0.7")!) };
const options: QueryOptions = { timeoutMs: 1, signal: new AbortController().signal };
const found: readonly ServerRecord[] = await query("127.86.0.1:1", options);
console.log(plainText(status!.motd!), status!.online, row.host, FIELDS[0].name, found.length);
`;

Deno.test("tsc --strict reports only a wrong argument and a module that needs Deno, and the program prints the same in every runtime", async () => {
  const wrong = [
    'import { scan } from "blocksweep";',
    'import { parseTarget } from "blocksweep/targets";',
    "parseTarget(7), scan;",
  ];
  await Deno.writeTextFile(`${FOLDER}/program.ts`, PROGRAM);
  await Deno.writeTextFile(`${FOLDER}/wrong.ts`, wrong.join("\n"));
  const options = ["--strict", "--skipLibCheck", "false", "--module", "nodenext", "--ignoreConfig"];
  const words = [`${BIN}/tsc`, ...options, "program.ts", "wrong.ts"];
  const { stdout: errors } = await runIn(FOLDER, words);
  assertEquals(errors.match(/^\S+\(\d+|TS\d+/gm), ["wrong.ts(1", "TS2305", "wrong.ts(3", "TS2345"]);
  for (const [runtime, words] of Object.entries(RUNTIMES)) {
    const flags = runtime === "Deno" ? ["--unstable-net", "--allow-net"] : [];
    const printed = await outputIn(FOLDER, ...words, ...flags, "program.js");
    assertEquals(printed, "My server 3 10.0.0.7 host 0\n", runtime);
  }
});

Deno.test("each pure module exports the same names in every runtime, without permissions", async () => {
  const code = PURE.map((name) =>
    `console.log(${JSON.stringify(name)}, Object.keys(await import("${name}")).sort().join());`
  ).join("\n");
  const expected: string[] = [];
  for (const name of PURE) {
    const path = EXPORTS[`.${name.slice("blocksweep".length)}`];
    const names = Object.keys(await import(new URL(path, ROOT).href)).sort();
    expected.push(`${name} ${names.join()}\n`);
  }
  for (const runtime of Object.keys(RUNTIMES)) {
    const { stdout, stderr } = await run(runtime, code);
    assertEquals(stdout, expected.join(""), `${runtime}: ${stderr}`);
  }
});

Deno.test("all golden messages are decoded and encoded in every runtime as in Deno's tests", async () => {
  const source = "tests/npm/decode_golden.ts";
  await outputIn(ROOT.pathname, "deno", "bundle", "--quiet", "-o", `${FOLDER}/golden.mjs`, source);
  for (const [runtime, words] of Object.entries(RUNTIMES)) {
    assertEquals(await outputIn(FOLDER, ...words, "golden.mjs"), `${GOLDEN.length}\n`, runtime);
  }
});

Deno.test("in Node and Bun, a module that needs Deno says so and names those that do not", async () => {
  const imports = {
    "blocksweep/scan": "runScan",
    "blocksweep/store": "Store",
    "blocksweep/testing": "SimulatedNetwork",
  };
  assertEquals(["blocksweep", ...Object.keys(imports)], NEED_DENO);
  for (const runtime of Object.keys(RUNTIMES).filter((name) => name !== "Deno")) {
    for (const [name, imported] of Object.entries(imports)) {
      const { code, stderr } = await run(
        runtime,
        `import { ${imported} } from "${name}";\nconsole.log(${imported});`,
      );
      assertEquals(code, 1, `${runtime}: ${stderr}`);
      assertStringIncludes(stderr, `${name} needs Deno`);
      assertStringIncludes(stderr, PURE.join(", "));
    }
  }
});

Deno.test("in Deno, the functions of the package scan a simulated network", async () => {
  const code = `
import { scan } from "blocksweep";
import { SimulatedNetwork } from "blocksweep/testing";
const network = new SimulatedNetwork();
network.addServer({ host: "10.0.0.7", software: "bds", status: { name: "Lobby" } });
const rows = await network.run(Array.fromAsync(scan(["10.0.0.0/28"], { network })));
console.log(rows.map(({ host, name }) => host + " " + name).join());
`;
  const { stdout, stderr } = await run("Deno", code, ["--unstable-net"]);
  assertEquals([stdout, stderr], ["10.0.0.7 Lobby\n", ""]);
});
