import { assertEquals, assertThrows } from "@std/assert";
import { parseNatsUrls } from "../../../src/campaign/nats/nats_url.ts";
import { redact } from "../../../src/core/redact.ts";
import { InputError } from "../../../src/core/errors.ts";

Deno.test("a URL of NATS has a host, a port, and a user or a token", () => {
  const none = { user: undefined, password: undefined, token: undefined, inbox: undefined };
  assertEquals(parseNatsUrls("nats://127.0.0.1"), {
    ...none,
    servers: ["127.0.0.1:4222"],
    isEncrypted: false,
    shownUrls: "nats://127.0.0.1",
  });
  assertEquals(parseNatsUrls("tls://[::1]:4333/"), {
    ...none,
    servers: ["[::1]:4333"],
    isEncrypted: true,
    shownUrls: "tls://[::1]:4333",
  });
  const { shownUrls: shownUrls, ...user } = parseNatsUrls("nats://worker:p%40ss%2Fw@broker:80");
  assertEquals(shownUrls, "nats://worker@broker:80");
  assertEquals([user.user, user.password, user.inbox], ["worker", "p@ss/w", "_INBOX.worker"]);
  const token = parseNatsUrls("nats://s3cret@broker");
  assertEquals([token.user, token.token, token.shownUrls], [undefined, "s3cret", "nats://broker"]);
  assertEquals(parseNatsUrls("nats://a.b:pass@broker").inbox, undefined);
});

Deno.test("several URLs have commas between them, and one user", () => {
  const { servers, user, shownUrls: shownUrls } = parseNatsUrls(
    "nats://a, nats://ann:secret@b:4333,nats://c",
  );
  assertEquals(servers, ["a:4222", "b:4333", "c:4222"]);
  assertEquals([user, shownUrls], ["ann", "nats://a,nats://ann@b:4333,nats://c"]);
  assertThrows(
    () => parseNatsUrls("nats://ann:secret@a,nats://bob:hidden@b"),
    InputError,
    'Invalid URLs of NATS "nats://ann@a,nats://bob@b": their users and passwords must be equal',
  );
});

Deno.test("a comma in a password divides no URLs, and an invalid URL does not show it", () => {
  const { servers, password, shownUrls: shownUrls } = parseNatsUrls(
    "nats://ann:se,cr,et@a,tls://b",
  );
  assertEquals([servers, password], [["a:4222", "b:4222"], "se,cr,et"]);
  assertEquals(shownUrls, "nats://ann@a,tls://b");
  for (const url of ["nats://ann:se,cret@a/path", "nats://ann:se,cret@a:b", "ann:se,cret@a"]) {
    const { message } = assertThrows(() => parseNatsUrls(url), InputError, "Invalid URL of NATS");
    assertEquals(message.includes("cret"), false, message);
  }
  // A list of hosts is none of URLs.
  assertThrows(() => parseNatsUrls("nats://a,b:4333"), InputError, "Invalid URL of NATS");
});

Deno.test("the advice about an invalid URL of NATS survives the redaction of messages", () => {
  const { message } = assertThrows(() => parseNatsUrls("nonsense"), InputError);
  assertEquals(redact(message, ["--nats", "nonsense"]), message);
});

Deno.test("an invalid URL of NATS is shown without its password", () => {
  for (
    const [text, shown] of [
      ["http://host", "http://host"],
      ["localhost", "localhost"],
      ["", ""],
      ["nats://", "nats://"],
      ["nats://ann:secret@host/path", "nats://ann@host/path"],
      ["nats://ann:secret@host?secret", "nats://ann@host?…"],
      ["nats://ann:%zz@host", "nats://ann@host"],
      ["nats://host:99999", "nats://host:99999"],
    ]
  ) {
    assertThrows(
      () => parseNatsUrls(text),
      InputError,
      `Invalid URL of NATS "${shown}": use nats:// and a host, such as nats://10.0.0.1:4222, or ` +
        "tls:// for TLS",
    );
  }
});
