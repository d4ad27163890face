/** The types of src/campaign/nats/client_types.ts fit the client: the type check of this file fails otherwise. */
import type * as Jetstream from "npm:@nats-io/jetstream@3.4.0";
import type * as KeyValue from "npm:@nats-io/kv@3.4.0";
import type * as Objects from "npm:@nats-io/obj@3.4.0";
import type * as Transport from "npm:@nats-io/transport-node@3.4.0";
import { assertEquals } from "@std/assert";
import type * as Own from "../../../src/campaign/nats/client_types.ts";
import { loadNatsClient } from "../../../src/campaign/nats/client.ts";

/** Compiles only if each value of the client's type is a value of our type. */
type Fits<Ours, Client extends Ours> = Client;

type _Checks = [
  Fits<Own.NatsConnection, Transport.NatsConnection>,
  Fits<Own.JetStreamClient, Jetstream.JetStreamClient>,
  Fits<Own.JetStreamManager, Jetstream.JetStreamManager>,
  Fits<Own.Consumer, Jetstream.Consumer>,
  Fits<Own.JsMsg, Jetstream.JsMsg>,
  Fits<Own.StreamInfo, Jetstream.StreamInfo>,
  Fits<Own.KV, KeyValue.KV>,
  Fits<Own.Buckets, KeyValue.Kvm>,
  Fits<Own.ObjectStore, Objects.ObjectStore>,
  Fits<Own.ObjectStores, Objects.Objm>,
  Fits<Transport.ConnectionOptions, Omit<Own.ConnectOptions, "authenticator">>,
];

Deno.test("the client has the functions that its types name", async () => {
  const client = await loadNatsClient();
  const names = [
    client.connect,
    client.credsAuthenticator,
    client.jetstreamManager,
    client.Kvm,
    client.nkeyAuthenticator,
    client.Objm,
    client.tokenAuthenticator,
    client.usernamePasswordAuthenticator,
  ].map(({ name }) => name);
  assertEquals(names, [
    "connect",
    "credsAuthenticator",
    "jetstreamManager",
    "Kvm",
    "nkeyAuthenticator",
    "Objm",
    "tokenAuthenticator",
    "usernamePasswordAuthenticator",
  ]);
});
