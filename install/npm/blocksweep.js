#!/usr/bin/env node
/** Starts the program with the Deno of this package, and with the permissions of the command. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const { always, others, fast, commands } = JSON.parse(
  readFileSync(new URL("flags.json", import.meta.url), "utf8"),
);

/** Number of simulated servers that need no further permission. Some have several endpoints. */
const MOST_SERVERS = 1000;

/** The value of an option, as `--name VALUE` or `--name=VALUE`. */
function valueOf(words, name) {
  const at = words.findIndex((word) => word === name || word.startsWith(`${name}=`));
  return at < 0 ? undefined : words[at].slice(name.length + 1) || words[at + 1];
}

/** Whether the version is wanted. It names the engines, which depend on the permissions of a scan. */
const isVersion = ([word]) => word === "--version" || word === "-V";

/** The text of a file, `""` if it cannot be read: the program reports that. */
function textOf(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Whether the command line needs the permission of the task `fast`. */
function needsFast(words) {
  const engine = valueOf(words, "--engine");
  if (engine !== undefined) return engine !== "portable";
  if (valueOf(words, "--threads") !== undefined || isVersion(words)) return true;
  // The endpoints of more servers share one socket, which the program opens through FFI.
  if (words[0] === "fleet" && Number(valueOf(words, "--servers")) > MOST_SERVERS) return true;
  const [resumed, config] = [valueOf(words, "--resume"), valueOf(words, "--config")];
  // The list file of a scan begins with the options of the scan.
  const [list] = resumed === undefined ? [""] : textOf(`${resumed}.list`).split("\n", 1);
  const options = list + (config === undefined ? "" : textOf(config));
  return /\b(?:engine|threads)\b"?\s*[:=]/.test(options);
}

/** The arguments of Deno for a command line. */
function denoArguments(words) {
  const command = isVersion(words) ? "scan" : words[0];
  const flags = Object.hasOwn(commands, command) ? commands[command] : others;
  const main = fileURLToPath(new URL("../lib/main.js", import.meta.url));
  const engine = needsFast(words) ? fast : [];
  return ["run", ...new Set([...always, ...flags, ...engine]), main, ...words];
}

/** The path of Deno. It is copied into its package at first if npm did not run its install script. */
function denoPath() {
  try {
    return createRequire(import.meta.url)("deno/install_api.cjs").runInstall();
  } catch (error) {
    return fail(error);
  }
}

function fail(error) {
  const [line] = error.message.split("\n", 1);
  process.stderr.write(`blocksweep: Cannot start Deno: ${line}\n`);
  process.exit(1);
}

const environment = { ...process.env, DENO_NO_UPDATE_CHECK: "1" };
// npm sets this variable. The program would take it for that of `deno task`.
delete environment.INIT_CWD;
const child = spawn(denoPath(), denoArguments(process.argv.slice(2)), {
  stdio: "inherit",
  env: environment,
});
// A terminal sends a signal to both programs; the program counts two within 0.1 s as one. On
// Windows the console does the same, and kill() would end the program at once.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => process.platform === "win32" || child.kill(signal));
}
child.on("error", fail);
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
