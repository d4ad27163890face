#!/usr/bin/env node
/** Starts the program with the Deno of this package, and with the permissions of the command. */
import { spawn } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const { always, others, fast, commands } = JSON.parse(
  readFileSync(new URL("flags.json", import.meta.url), "utf8"),
);

/** Number of simulated servers that need no further permission. Some have several endpoints. */
const MOST_SERVERS = 1000;

/** The value of an option, as `--name VALUE` or `--name=VALUE`; `undefined` without a value. */
function valueOf(words, name) {
  const at = words.findIndex((word) => word === name || word.startsWith(`${name}=`));
  if (at < 0) return undefined;
  return (words[at] === name ? words[at + 1] : words[at].slice(name.length + 1)) || undefined;
}

/** Whether the version is wanted. It names the engines, which depend on the permissions of a scan. */
const isVersion = ([word]) => word === "--version" || word === "-V";

/**
 * The text of a file, `""` if it cannot be read: the program reports that. A pipe is left to the
 * program, because it can be read only once.
 */
function textOf(path) {
  try {
    return statSync(path).isFile() ? readFileSync(path, "utf8") : "";
  } catch {
    return "";
  }
}

/** The object in a text of JSON, an empty one if it is not valid: the program reports that. */
function objectOf(text) {
  try {
    return Object(JSON.parse(text.replace(/^\ufeff/, "")));
  } catch {
    return {};
  }
}

/** Whether a scan needs FFI: its options select an engine that does, or sender threads. */
function isFastScan(words) {
  const [resumed, file] = [valueOf(words, "--resume"), valueOf(words, "--config")];
  const config = objectOf(textOf(file));
  // The first line of a scan's list file contains the options of the scan.
  const [list] = resumed === undefined ? [""] : textOf(`${resumed}.list`).split("\n", 1);
  const { options } = objectOf(list.replace(/^blocksweep rows /, ""));
  const optionOf = (name) => valueOf(words, `--${name}`) ?? config[name] ?? options?.[name];
  const [engine, threads] = [optionOf("engine"), optionOf("threads")];
  return engine === undefined ? threads !== undefined : String(engine) !== "portable";
}

/** Whether the command line needs the permission of the task `fast`. */
function needsFast(all) {
  if (isVersion(all)) return true;
  const end = all.indexOf("--");
  const [command, ...words] = end < 0 ? all : all.slice(0, end);
  if (command === "scan") return isFastScan(words);
  if (command === "campaign" && words[0] === "work") {
    return (valueOf(words, "--engine") ?? "portable") !== "portable";
  }
  // The endpoints of more servers share one socket, which the program opens through FFI.
  return command === "fleet" && Number(valueOf(words, "--servers")) > MOST_SERVERS;
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
