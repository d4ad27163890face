import { assertEquals, assertInstanceOf } from "@std/assert";
import { InputError, ShortageError } from "../../src/core/errors.ts";
import { fileError } from "../../src/sinks/file_errors.ts";
import { WriteError } from "../../src/sinks/sink.ts";

function errorOf(code: string | undefined): Error {
  return fileError(`write to "x"`, Object.assign(new Error(`${code}: open 'a\nb'`), { code }));
}

Deno.test("a path that a user can correct is an input error, and a failure of the system is not", () => {
  for (const code of ["ENOENT", "ENOTDIR", "EISDIR", "EACCES", "EROFS", "ENAMETOOLONG"]) {
    assertInstanceOf(errorOf(code), InputError, code);
  }
  for (const code of ["EIO", "ENOSPC", "EDQUOT", "EFBIG", "ENOMEM", undefined]) {
    const error = errorOf(code);
    assertInstanceOf(error, WriteError, code);
    assertEquals(error.message, `Cannot write to "x": ${code}`);
    assertInstanceOf(error.cause, Error);
  }
});

Deno.test("a lack of descriptors is a shortage with a remedy", () => {
  for (const code of ["EMFILE", "ENFILE"]) {
    const error = errorOf(code);
    assertInstanceOf(error, ShortageError, code);
    const remedy = "no file descriptors left; raise the limit (ulimit -n)";
    assertEquals(error.message, `Cannot write to "x": ${remedy}`);
  }
});

Deno.test("the error of a missing Deno permission is returned unchanged", () => {
  const error = new Deno.errors.NotCapable("run again with --allow-write");
  assertEquals(fileError(`write to "x"`, error), error);
});
