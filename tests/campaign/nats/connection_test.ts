/** Of src/campaign/nats/connection.ts, src/campaign/nats/client.ts and src/campaign/nats/errors.ts. */
import { nkeys } from "npm:@nats-io/transport-node@3.4.0";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { connectBroker, type NatsOptions } from "../../../src/campaign/nats/connection.ts";
import { connectError } from "../../../src/campaign/nats/errors.ts";
import { InputError } from "../../../src/core/errors.ts";
import { freePort } from "../../fakes/free_port.ts";
import { certify } from "../certificates.ts";
import { natsTest, startNats } from "../nats_server.ts";

/** The message of a connection that has to fail. */
async function refusal(options: NatsOptions): Promise<string> {
  const { message } = await assertRejects(async () => {
    await using _ = await connectBroker(options, "test");
  }, InputError);
  assert(!message.includes("\n") && !message.includes("s3cret"), message);
  return message;
}

/** Writes a file into a folder. */
async function write(folder: string, name: string, text: string): Promise<string> {
  await Deno.writeTextFile(`${folder}/${name}`, text);
  return `${folder}/${name}`;
}

natsTest("a connection has JetStream and inboxes of its user", async () => {
  await using server = await startNats({
    config: `authorization { users: [{
      user: worker, password: "s3cret/", permissions: { subscribe: "_INBOX.worker.>" }
    }] }`,
  });
  const nats = server.url.replace("//", "//worker:s3cret%2F@");
  await using broker = await connectBroker({ nats }, "test");
  assertEquals(broker.urls, server.url.replace("//", "//worker@"));
  assertEquals((await broker.jsm.getAccountInfo()).streams, 0);
});

natsTest("the URL may be in a file", async () => {
  await using server = await startNats({ config: 'authorization { token: "s3cret" }' });
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(file, `${server.url.replace("//", "//s3cret@")}\n`);
    await using broker = await connectBroker({ nats: `@${file}` }, "test");
    assertEquals(broker.urls, server.url);
  } finally {
    await Deno.remove(file);
  }
  assertEquals(
    await refusal({ nats: `@${file}` }),
    `Cannot read "${file}": there is no such file`,
  );
});

natsTest("a token in the URL and several URLs are accepted", async () => {
  await using server = await startNats({ config: 'authorization { token: "s3cret" }' });
  const nats = `nats://127.0.0.1:${freePort()},${server.url.replace("//", "//s3cret@")}`;
  await using broker = await connectBroker({ nats }, "test");
  assertEquals(broker.connection.getServer(), `127.0.0.1:${server.port}`);
});

Deno.test("without a server, the message says how to start one", async () => {
  const nats = `nats://ann:s3cret@127.0.0.1:${freePort()}`;
  assertEquals(
    await refusal({ nats }),
    `Cannot connect to NATS at "${nats.replace(":s3cret", "")}": no server listens there; ` +
      "start one, for example with: nats-server -js",
  );
  assertEquals(
    connectError(new Error("getaddrinfo ENOTFOUND host.invalid"), "nats://host.invalid").message,
    'Cannot connect to NATS at "nats://host.invalid": the host name has no address',
  );
});

/** Permissions without one to look up names. */
const LOOPBACK: Deno.PermissionOptions = { net: ["127.0.0.1"], read: "inherit", env: "inherit" };

Deno.test("a host name needs a permission", { permissions: LOOPBACK }, async () => {
  assertEquals(
    await refusal({ nats: "nats://host.invalid" }),
    'Cannot connect to NATS at "nats://host.invalid": the permission to look up the host name is ' +
      "missing; add --allow-net to deno run or deno install",
  );
});

natsTest("a server without JetStream is refused", async () => {
  await using server = await startNats({ jetStream: false });
  assertEquals(
    await refusal({ nats: server.url }),
    `Cannot use NATS at "${server.url}": JetStream is not enabled, or its cluster has no leader; ` +
      "start a server with: nats-server -js",
  );
});

natsTest("a wrong password, and none where one is required, are refused", async () => {
  await using server = await startNats({
    config: "authorization { users: [{ user: worker, password: right }] }",
  });
  const reason = "the server refuses the user, password, token or key, or none was given";
  const nats = server.url.replace("//", "//worker:s3cret@");
  const urls = server.url.replace("//", "//worker@");
  assertEquals(await refusal({ nats }), `Cannot connect to NATS at "${urls}": ${reason}`);
  assertEquals(
    await refusal({ nats: server.url }),
    `Cannot connect to NATS at "${server.url}": ${reason}`,
  );
});

natsTest("connections with a wrong password never end the program", async () => {
  await using server = await startNats({ config: 'authorization { token: "right" }' });
  // Without the listeners of `correctTransport()`, about one connection in four ended this test.
  for (let i = 0; i < 40; i++) await refusal({ nats: server.url });
});

natsTest("a user without access to JetStream is refused with the subject", async () => {
  await using server = await startNats({
    config: "authorization { users: [{ user: a, password: b, permissions: { publish: x } }] }",
  });
  assertEquals(
    await refusal({ nats: server.url.replace("//", "//a:b@") }),
    `Cannot use NATS at "${server.url.replace("//", "//a@")}": ` +
      'the user has no permission to publish to "$JS.API.INFO"',
  );
});

natsTest("TLS needs the certification authority of the server", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const own = await certify(folder, "own", "IP:127.0.0.1");
    const other = await certify(folder, "other", "IP:127.0.0.2,DNS:localhost");
    await using server = await startNats({
      config: `tls { cert_file: "${own.certificate}", key_file: "${own.key}" }`,
    });
    for (const nats of [server.url, server.url.replace("nats", "tls")]) {
      await using broker = await connectBroker({ nats, natsCa: own.ca }, "test");
      assertEquals(broker.connection.info?.tls_required, true);
    }
    for (const wrong of [{}, { natsCa: other.ca }]) {
      const message = await refusal({ nats: server.url, ...wrong });
      assert(
        message.startsWith(
          `Cannot connect to NATS at "${server.url}": the server's certificate is not valid (`,
        ) && message.endsWith("--nats-ca names the file of its certification authority"),
        message,
      );
    }
    // The certificate is not valid for the address in the URL.
    await using elsewhere = await startNats({
      config: `tls { cert_file: "${other.certificate}", key_file: "${other.key}" }`,
    });
    assertMatch(
      await refusal({ nats: elsewhere.url, natsCa: other.ca }),
      /the server's certificate is not valid \(.*\); --nats-ca names/,
    );
    await using plain = await startNats();
    assertEquals(
      await refusal({ nats: plain.url, natsCa: own.ca }),
      `Cannot connect to NATS at "${plain.url}": the server offers no TLS; use nats:// without --nats-ca`,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("files of access that are missing or contain something else are refused", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const nats = `nats://127.0.0.1:${freePort()}`;
    const missing = `${folder}/missing`;
    const wrong = await write(folder, "wrong", "s3cret");
    const reason = `Cannot read "${missing}": there is no such file`;
    assertEquals(await refusal({ nats, natsCa: missing }), reason);
    assertEquals(await refusal({ nats, natsCreds: missing }), reason);
    assertEquals(await refusal({ nats, natsNkey: missing }), reason);
    assertEquals(
      await refusal({ nats, natsCa: wrong }),
      `"${wrong}" contains no certificate in PEM form`,
    );
    assertEquals(
      await refusal({ nats, natsCreds: wrong }),
      `"${wrong}" contains no credentials of NATS: a JWT and the seed of its key`,
    );
    assertEquals(
      await refusal({ nats, natsNkey: wrong }),
      `"${wrong}" contains no seed of an NKey (SU…)`,
    );
    assertEquals(
      await refusal({ nats: nats.replace("//", "//ann:s3cret@"), natsNkey: wrong }),
      `Cannot connect to NATS at "${nats.replace("//", "//ann@")}": ` +
        "give only one of a user in the URL, --nats-creds and --nats-nkey",
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

natsTest("the seed of an NKey gives access, with inboxes of its public key", async () => {
  const key = nkeys.createUser();
  const folder = await Deno.makeTempDir();
  try {
    const natsNkey = await write(folder, "seed", `${new TextDecoder().decode(key.getSeed())}\n`);
    await using server = await startNats({
      config: `authorization { users: [{
        nkey: ${key.getPublicKey()},
        permissions: { subscribe: "_INBOX.${key.getPublicKey()}.>" }
      }] }`,
    });
    await using broker = await connectBroker({ nats: server.url, natsNkey }, "test");
    assertEquals((await broker.jsm.getAccountInfo()).streams, 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

natsTest("a connection comes back when its server is killed and started again", async () => {
  await using server = await startNats();
  await using broker = await connectBroker({ nats: server.url }, "test");
  const reconnected = (async () => {
    for await (const { type } of broker.connection.status()) if (type === "reconnect") return;
  })();
  await broker.jsm.streams.add({ name: "KEPT", subjects: ["kept"] });
  await server.stop("SIGKILL");
  await server.start();
  await reconnected;
  assertEquals((await broker.jsm.streams.info("KEPT")).config.subjects, ["kept"]);
});
