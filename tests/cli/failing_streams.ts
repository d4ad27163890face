/** Replaces standard streams: they fail, or the test reads them. */

/** The error of a device without free space. */
export const FULL = Object.assign(new Error("No space left on device (os error 28)"), {
  code: "ENOSPC",
});

/** Runs a test while a standard stream fails. */
export async function withFault<T>(
  stream: "stdout" | "stderr",
  fault: Error,
  test: () => Promise<T>,
): Promise<T> {
  const { write, writeSync } = Deno[stream];
  Object.assign(Deno[stream], {
    write: () => Promise.reject(fault),
    writeSync: () => {
      throw fault;
    },
  });
  try {
    return await test();
  } finally {
    Object.assign(Deno[stream], { write, writeSync });
  }
}

/** Runs a test. Returns its result and its output on standard error. */
export async function withMessages<T>(test: () => Promise<T>): Promise<[T, string]> {
  const { writeSync } = Deno.stderr;
  let text = "";
  Deno.stderr.writeSync = (bytes) => {
    text += new TextDecoder().decode(bytes);
    return bytes.length;
  };
  try {
    return [await test(), text];
  } finally {
    Deno.stderr.writeSync = writeSync;
  }
}

/** Runs a test. Returns its result and its output on standard output. */
export async function withResults<T>(test: () => Promise<T>): Promise<[T, string]> {
  const { write } = Deno.stdout;
  let text = "";
  Deno.stdout.write = (bytes) => {
    text += new TextDecoder().decode(bytes);
    return Promise.resolve(bytes.length);
  };
  try {
    return [await test(), text];
  } finally {
    Deno.stdout.write = write;
  }
}
