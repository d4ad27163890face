/** Tests of src/web/http/access_token.ts, and of the form in src/web/http/dashboard.ts. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { readAccessToken } from "../../../src/web/http/access_token.ts";
import { clientOf } from "./client.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const FORM = { "content-type": "application/x-www-form-urlencoded" };

/** Sends the form. */
function enter(get: ReturnType<typeof clientOf>, token: string, to: string, headers = {}) {
  return get("POST /token", { ...FORM, ...headers }, new URLSearchParams({ token, to }).toString());
}

Deno.test("without the token there is only the form, its files, and an error for programs", async () => {
  const get = clientOf({ token: TOKEN });
  const page = await get("GET /servers?port=7");
  assertEquals([page.status, page.headers["www-authenticate"]], [401, "Bearer"]);
  assertStringIncludes(page.text, 'value="/servers?port=7"');
  const api = await get("GET /api/scans");
  assertEquals(api.status, 401);
  assertEquals(JSON.parse(api.text).wanted, "a header Authorization: Bearer TOKEN");
  for (const path of ["/servers.csv", "/icons/a.png", "/nothing", "/token", "/api/live"]) {
    assertEquals((await get(`GET ${path}`)).status, 401, path);
  }
  const [, style] = /href="(\/assets\/[^"]+\.css)"/.exec(page.text) ?? [];
  assertEquals((await get(`GET ${style}`)).status, 200);
});

Deno.test("a program sends the token in a header", async () => {
  const get = clientOf({ token: TOKEN });
  const status = async (authorization: string) =>
    (await get("GET /scans", { authorization })).status;
  assertEquals(await status(`Bearer ${TOKEN}`), 200);
  assertEquals(await status(`bearer  ${TOKEN}`), 200);
  for (
    const wrong of ["", TOKEN, `Basic ${TOKEN}`, `Bearer ${TOKEN}0`, `Bearer ${TOKEN.slice(1)}`]
  ) {
    assertEquals(await status(wrong), 401, wrong);
  }
  assertEquals((await get(`GET /scans?token=${TOKEN}`)).status, 401);
});

Deno.test("the form sets a cookie that scripts and other sites do not get, and leads back", async () => {
  const get = clientOf({ token: TOKEN });
  const { status, headers } = await enter(get, TOKEN, "/servers?port=7");
  assertEquals([status, headers.location], [303, "/servers?port=7"]);
  const [pair, ...attributes] = headers["set-cookie"].split("; ");
  assertEquals(attributes, ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=2592000"]);
  assert(!pair.includes(TOKEN));
  assertEquals((await get("GET /scans", { cookie: `a=b; ${pair}; c=d` })).status, 200);
  assertEquals((await get("GET /scans", { cookie: `${pair}0` })).status, 401);
  assertEquals((await get("GET /scans", { cookie: pair.replace("=", "x=") })).status, 401);
  const { headers: secure } = await enter(get, TOKEN, "/", { "x-forwarded-proto": "https" });
  assert(secure["set-cookie"].endsWith("; Secure"));
});

Deno.test("a wrong token, a foreign site and another type of body get no cookie", async () => {
  const get = clientOf({ token: TOKEN });
  const wrong = await enter(get, "guess", "/servers");
  assertEquals([wrong.status, wrong.headers["set-cookie"]], [401, undefined]);
  assertStringIncludes(wrong.text, 'value="/servers"');
  assert(!wrong.text.includes("guess"));
  const foreign = await enter(get, TOKEN, "/", { "sec-fetch-site": "cross-site" });
  assertEquals([foreign.status, foreign.headers["set-cookie"]], [403, undefined]);
  const typed = await enter(get, TOKEN, "/", { "content-type": "text/plain" });
  assertEquals([typed.status, typed.headers["set-cookie"]], [400, undefined]);
});

Deno.test("the form leads to pages of the dashboard only", async () => {
  const get = clientOf({ token: TOKEN });
  for (
    const to of [
      ...["https://evil.example/", "//evil.example/", "/\\evil.example", "/%09/evil.example", ""],
      ...["javascript:alert(1)", "/token", "\\\\evil.example", "/.//evil.example", "/a\r\nX: 1"],
    ]
  ) {
    const { status, headers } = await enter(get, TOKEN, to);
    assertEquals(status, 303);
    const url = new URL(headers.location, "http://localhost:8420/");
    assertEquals(url.host, "localhost:8420", to);
    assert(!/[\r\n]/.test(headers.location), to);
  }
});

Deno.test("a token has at least 128 bits, and its file only one reader", async () => {
  const path = await Deno.makeTempFile();
  const read = async (text: string, mode = 0o600) => {
    await Deno.writeTextFile(path, text);
    await Deno.chmod(path, mode);
    return await readAccessToken(path);
  };
  try {
    assertEquals(await read(`${TOKEN}\n`), TOKEN);
    assertEquals(await read("AbCdEfGhIjKlMnOpQrStUv\r\nnote"), "AbCdEfGhIjKlMnOpQrStUv");
    for (
      const weak of [
        "",
        TOKEN.slice(1),
        "a".repeat(64),
        "1234567890".repeat(3),
        "AbCdEfGhIjK",
        "ä".repeat(40),
      ]
    ) {
      const error = await assertRejects(() => read(weak), InputError, "at least 128 bits");
      assert(weak === "" || !error.message.includes(weak));
    }
    for (const mode of [0o640, 0o604, 0o644]) {
      await assertRejects(() => read(TOKEN, mode), InputError, "other users can read");
    }
  } finally {
    await Deno.remove(path);
  }
  await assertRejects(() => readAccessToken("/nothing"), InputError, "there is no such file");
});
