import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  parseHeaderSource,
  parseSecretSource,
  readHeaders,
  readSecret,
  readUrl,
  type SecretSource,
} from "../../../src/app/outputs/webhook_secrets.ts";
import { InputError } from "../../../src/core/errors.ts";

const VARIABLE = "BLOCKSWEEP_TEST_SECRET";

function unexpected(message: string): never {
  throw new Error(message);
}

Deno.test("a secret comes from a file or a variable, and never from the command line", () => {
  assertEquals(parseSecretSource("@a/b.txt"), { kind: "file", name: "a/b.txt" });
  assertEquals(parseSecretSource("env:TOKEN_1"), { kind: "variable", name: "TOKEN_1" });
  for (const text of ["hunter2", "", "@", "env:", "env:A B", "env:A=b", "file.txt", " @a"]) {
    assertEquals(parseSecretSource(text), undefined, text);
  }
  assertEquals(parseHeaderSource("Authorization=@t"), {
    header: "Authorization",
    source: { kind: "file", name: "t" },
  });
  for (
    const text of [
      ...["Authorization: Bearer x", "Authorization=Bearer x", "=@t", "A\nB=@t", "A B=@t"],
      ...["Content-Type=@t", "content-length=@t", "Host=@t", "X-Blocksweep-Signature=@t"],
    ]
  ) {
    assertEquals(parseHeaderSource(text), undefined, text);
  }
});

Deno.test("secrets are read from files and variables, without the line's end", async () => {
  const path = await Deno.makeTempFile();
  const file: SecretSource = { kind: "file", name: path };
  try {
    await Deno.writeTextFile(path, "hunter2\r\n");
    Deno.env.set(VARIABLE, "s3cr3t");
    assertEquals(await readSecret("webhook-secret", file, unexpected), "hunter2");
    const variable: SecretSource = { kind: "variable", name: VARIABLE };
    assertEquals(await readSecret("webhook-secret", variable, unexpected), "s3cr3t");
    await Deno.writeTextFile(path, "https://h.example/T0K3N\n");
    assertEquals(await readUrl(file, unexpected), "https://h.example/T0K3N");
    const headers = [{ header: "X-A", source: file }, { header: "X-B", source: variable }];
    assertEquals(await readHeaders(headers, unexpected), {
      "x-a": "https://h.example/T0K3N",
      "x-b": "s3cr3t",
    });
    await Deno.chmod(path, 0o644);
    const lines: string[] = [];
    await readSecret("webhook-secret", file, (line) => lines.push(line));
    assertEquals(lines, [`other users can read "${path}", which contains a secret (chmod 600)`]);
  } finally {
    Deno.env.delete(VARIABLE);
    await Deno.remove(path);
  }
});

Deno.test("an unusable secret is refused in one line that shows no part of the secret", async () => {
  const path = await Deno.makeTempFile();
  const file: SecretSource = { kind: "file", name: path };
  const refused = async (text: string, read: () => Promise<unknown>) => {
    await Deno.writeTextFile(path, text);
    const { message } = await assertRejects(read, InputError);
    assert(message.includes(path) && !/s3cr3t|\n/.test(message), message);
  };
  try {
    for (
      const text of ["", "\n", "s3cr3t\nX-Admin: 1", "s3cr3t\0", "s3cr3t\r", "s3cr3t".repeat(9999)]
    ) {
      await refused(text, () => readSecret("webhook-secret", file, unexpected));
    }
    await refused("ftp://s3cr3t", () => readUrl(file, unexpected));
    await refused("s3cr3té", () => readHeaders([{ header: "A", source: file }], unexpected));
    await Deno.writeTextFile(path, "s3cr3t");
    const twice = [{ header: "A", source: file }, { header: "a", source: file }];
    await assertRejects(
      () => readHeaders(twice, unexpected),
      InputError,
      "--webhook-header a twice",
    );
    const missing: SecretSource = { kind: "variable", name: VARIABLE };
    await assertRejects(
      () => readSecret("webhook-secret", missing, unexpected),
      InputError,
      `Cannot use --webhook-secret: there is no environment variable "${VARIABLE}"`,
    );
  } finally {
    await Deno.remove(path);
  }
});
