/**
 * Bundles what the main module of the library has in Node.js and Bun into `lib/src/mod.node.js`. esbuild
 * replaces the syntax that Node 20 lacks, and this module the functions.
 */
import { build, type Plugin, stop } from "esbuild";
import { NODE_ENTRY, PACKAGE, ROOT } from "./project.ts";

/** Functions that Node 20 or 24 lacks, with their name in missing_in_node.ts. */
const REPLACED: Readonly<Record<string, string>> = {
  "Promise.withResolvers": "withResolvers",
  "Object.groupBy": "groupBy",
};
/** Methods that they lack: `VALUE.NAME()` becomes `NAME(VALUE)`. */
const REPLACED_METHODS = /\b(\w+)\.(toHex)\(\)/g;
/** Other functions and methods that Node 20 or 24 lacks, which would have to be replaced too. */
const MISSING =
  /\b(?:Map\.groupBy|Array\.fromAsync|Promise\.try|RegExp\.escape|Uint8Array\.from(?:Hex|Base64))\(|\.(?:toHex|toBase64|union|intersection|difference|symmetricDifference|isSubsetOf|isSupersetOf|isDisjointFrom|getOrInsert\w*)\(|\.(?:(?:values|keys|entries)\(\)|matchAll\([^()]*\))\.(?!next\b)\w+\(|\bIterator\.|\bnew (?:Async)?DisposableStack\b/;

/** Errors are of the same classes in all modules of the package. */
export const SHARED = "src/core/errors";

const PLUGIN: Plugin = {
  name: "sources",
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /\/core\/errors\.ts$/ }, () => ({
      path: `./${SHARED.slice("src/".length)}.js`,
      external: true,
    }));
    // The names of simulated software complete the command line only.
    onResolve(
      { filter: /\/fleet\/mod\.ts$/ },
      ({ kind, path }) => kind === "dynamic-import" ? { path, namespace: "none" } : undefined,
    );
    onLoad({ filter: /.*/, namespace: "none" }, () => ({ contents: "export {};" }));
    // Loading a module of the project has no effects: what is not used is left out.
    onResolve({ filter: /^(?:\.|@std\/|npm:|jsr:)/ }, ({ path, resolveDir, kind }) => {
      if (kind === "entry-point") return undefined;
      if (!path.startsWith(".")) return { path, external: true, sideEffects: false };
      return { path: new URL(path, `file://${resolveDir}/`).pathname, sideEffects: false };
    });
    onLoad({ filter: /\/src\/.*\.tsx?$/ }, async ({ path }) => ({
      contents: (await Deno.readTextFile(path)).replace(REPLACED_METHODS, "$2($1)"),
      loader: "ts",
    }));
  },
};

/**
 * Makes the bundle.
 *
 * @param others Names that the main module exports in Deno only.
 * @param message What a call of their functions reports.
 */
export async function bundleForNode(others: readonly string[], message: string): Promise<void> {
  const { outputFiles, metafile } = await build({
    entryPoints: [`${ROOT.pathname}${NODE_ENTRY}.ts`],
    absWorkingDir: ROOT.pathname,
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "node",
    target: "node20",
    charset: "utf8",
    define: REPLACED,
    inject: [new URL("missing_in_node.ts", import.meta.url).pathname],
    plugins: [PLUGIN],
    footer: { js: others.map((name) => stub(name, message)).join("\n") },
  });
  await stop();
  const text = outputFiles[0].text;
  const [missing] = MISSING.exec(text) ?? [];
  if (missing !== undefined) throw new Error(`replace ${missing} for Node 20 in node_bundle.ts`);
  const [{ imports }] = Object.values(metafile.outputs);
  const wrong = imports.filter(({ path }) => path !== "./core/errors.js");
  if (wrong.length > 0) throw new Error(`the bundle for Node imports ${JSON.stringify(wrong)}`);
  await Deno.writeTextFile(new URL("lib/src/mod.node.js", PACKAGE), text);
}

/** A function that reports that it needs Deno. */
function stub(name: string, message: string): string {
  return `export function ${name}() {\n  throw new Error(${
    JSON.stringify(`${name}() ${message}`)
  });\n}`;
}
