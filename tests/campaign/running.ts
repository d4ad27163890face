/** Processes of the program that run beside a test, and the files that they write. */
import { finish } from "../cli/program.ts";

/** A process with its name and output. */
export interface Running {
  readonly name: string;
  readonly child: Deno.ChildProcess;
  readonly output: Promise<{ readonly code: number; readonly text: string }>;
}

/** The output of a process, as soon as it has ended. */
export async function outputOf(child: Deno.ChildProcess) {
  const { code, stdout, stderr } = await finish(child);
  return { code, text: stdout + stderr };
}

/** Kills a process, and waits until it has ended. */
export async function kill({ child, output }: Running): Promise<void> {
  child.kill("SIGKILL");
  await output;
}

/** Sends a signal to a process, unless it has ended. */
export function signal(child: Deno.ChildProcess, name: Deno.Signal): void {
  try {
    child.kill(name);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

/** The text of a file, as soon as it has a number of lines. */
export async function textOf(path: string, lines: number): Promise<string> {
  for (;; await pause(50)) {
    const text = await Deno.readTextFile(path).catch(() => "");
    if (text.split("\n").length > lines) return text;
  }
}

/** Resolves after a time in milliseconds. */
export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
