/**
 * The connection of a program to NATS JetStream.
 *
 * @module
 */
import { readTextFile } from "../../app/mod.ts";
import { InputError } from "../../core/errors.ts";
import { loadNatsClient } from "./client.ts";
import type {
  Authenticator,
  JetStreamClient,
  JetStreamManager,
  KV,
  NatsClient,
  NatsConnection,
  ObjectStore,
} from "./client_types.ts";
import { type NatsLocation, parseNatsUrls } from "./nats_url.ts";
import { brokerError, connectError } from "./errors.ts";

export interface NatsOptions {
  /**
   * URLs of the servers, with commas between them. They may contain a user and a password. `@FILE`
   * reads them from a file, because every user of a machine can read the arguments of programs.
   */
  readonly nats: string;
  /** The file of the certificate of the servers' certification authority. It requires TLS. */
  readonly natsCa?: string;
  /** The file of credentials: a JSON Web Token and the seed of its key. */
  readonly natsCreds?: string;
  /** The file of the seed of an NKey. */
  readonly natsNkey?: string;
}

/** A connection to NATS, which reconnects until it is disposed of. */
export interface Broker extends AsyncDisposable {
  /** Publishes and consumes messages of streams. */
  readonly js: JetStreamClient;
  /** Creates and describes streams and consumers. */
  readonly jsm: JetStreamManager;
  readonly connection: NatsConnection;
  /** The modules of the client. */
  readonly client: NatsClient;
  /** The URLs of the servers without secrets, for messages. */
  readonly urls: string;
  /** Opens a bucket of keys, which has to exist. Reads are answered by the leader of the bucket. */
  bucket(name: string): Promise<KV>;
  /** Opens a store of objects, which has to exist. */
  objects(name: string): Promise<ObjectStore>;
}

/** Timeout of one connection attempt, milliseconds. */
const CONNECT_MS = 10_000;
/** Delay before the next attempt to reconnect, and its maximum random addition, milliseconds. */
const RECONNECT_MS = 500;
/** A connection without a reply to two pings is replaced; milliseconds between pings. */
const PING_MS = 10_000;

/**
 * Connects to NATS. Only the first connection has to succeed: later, the client reconnects as often
 * as necessary.
 *
 * @param name The name of the connection, which the server's monitoring shows.
 * @throws InputError in one line when there is no server, no JetStream or no access.
 */
export async function connectBroker(options: NatsOptions, name: string): Promise<Broker> {
  const location = parseNatsUrls(await readUrls(options.nats));
  const client = await loadNatsClient();
  const access = await readAccess(client, location, options);
  const ca = options.natsCa === undefined ? undefined : await readCertificate(options.natsCa);
  const isEncrypted = location.isEncrypted || ca !== undefined;
  const connection = await client.connect({
    servers: [...location.servers],
    name,
    authenticator: access === undefined ? [] : [access],
    // Permissions for inboxes of their own keep users from reading the replies to others.
    ...inboxOf(location, access),
    ...isEncrypted && { tls: { ...ca && { ca } } },
    timeout: CONNECT_MS,
    pingInterval: PING_MS,
    reconnectTimeWait: RECONNECT_MS,
    reconnectJitter: RECONNECT_MS,
    reconnectJitterTLS: RECONNECT_MS,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
  }).catch((error) => {
    throw connectError(error, location.shownUrls);
  });
  return await withJetStream(client, connection, location.shownUrls);
}

/** Checks that the account has JetStream. */
async function withJetStream(
  client: NatsClient,
  connection: NatsConnection,
  urls: string,
): Promise<Broker> {
  try {
    const jsm = await client.jetstreamManager(connection);
    const js = jsm.jetstream();
    const [buckets, stores] = [new client.Kvm(js), new client.Objm(js)];
    return {
      client,
      connection,
      jsm,
      js,
      urls,
      bucket: (name) => buckets.open(name),
      objects: (name) => stores.open(name),
      [Symbol.asyncDispose]: () => disconnect(connection),
    };
  } catch (error) {
    await connection.close();
    throw brokerError(error, urls);
  }
}

/** Sends what is buffered, and closes the connection. */
async function disconnect(connection: NatsConnection): Promise<void> {
  if (connection.isClosed()) return;
  // Without a connection, `flush()` fails: acknowledgements are lost, and their messages are
  // delivered again.
  await connection.flush().catch(() => {});
  await connection.close();
}

async function readUrls(nats: string): Promise<string> {
  return nats.startsWith("@") ? (await readTextFile(nats.slice(1))).trim() : nats;
}

/** `_INBOX.USER`, or `_INBOX.` with the public key of the user. */
function inboxOf({ inbox }: NatsLocation, access?: Authenticator): { inboxPrefix?: string } {
  const { nkey } = (access?.("nonce") ?? {}) as { nkey?: string };
  const inboxPrefix = nkey === undefined ? inbox : `_INBOX.${nkey}`;
  return inboxPrefix === undefined ? {} : { inboxPrefix };
}

async function readAccess(
  client: NatsClient,
  { user, password, token, shownUrls: urls }: NatsLocation,
  { natsCreds, natsNkey }: NatsOptions,
): Promise<Authenticator | undefined> {
  const given = [user ?? token, natsCreds, natsNkey].filter((one) => one !== undefined);
  if (given.length > 1) {
    throw new InputError(
      `Cannot connect to NATS at "${urls}": give only one of a user in the URL, --nats-creds and --nats-nkey`,
    );
  }
  if (natsCreds !== undefined) return await readCredentials(client, natsCreds);
  if (natsNkey !== undefined) return await readSeed(client, natsNkey);
  if (token !== undefined) return client.tokenAuthenticator(token);
  return user === undefined ? undefined : client.usernamePasswordAuthenticator(user, password);
}

async function readCredentials(client: NatsClient, path: string): Promise<Authenticator> {
  const text = await readTextFile(path);
  const access = client.credsAuthenticator(new TextEncoder().encode(text));
  return checked(
    access,
    `"${path}" contains no credentials of NATS: a JWT and the seed of its key`,
  );
}

async function readSeed(client: NatsClient, path: string): Promise<Authenticator> {
  const seed = (await readTextFile(path)).trim();
  const access = client.nkeyAuthenticator(new TextEncoder().encode(seed));
  return checked(access, `"${path}" contains no seed of an NKey (SU…)`);
}

/** Signs once, because the client would close the connection for an invalid key. */
function checked(access: Authenticator, message: string): Authenticator {
  try {
    access("nonce");
    return access;
  } catch {
    throw new InputError(message);
  }
}

async function readCertificate(path: string): Promise<string> {
  const text = await readTextFile(path);
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw new InputError(`"${path}" contains no certificate in PEM form`);
}
