/**
 * The parts of the client for NATS that this program uses. They are written here, because an import
 * of the client's types would make `deno install` download the client, which only campaigns use.
 *
 * @module
 */

/** Bytes, or text as UTF-8. */
export type Payload = Uint8Array | string;

/** A change of the connection: `disconnect`, `reconnect`, `error` and others. */
export interface ConnectionStatus {
  readonly type: string;
}

export interface NatsConnection {
  /** What the server says about itself. */
  readonly info?: {
    readonly server_name: string;
    readonly version: string;
    readonly max_payload: number;
    readonly tls_required?: boolean;
  };
  close(): Promise<void>;
  isClosed(): boolean;
  flush(): Promise<void>;
  getServer(): string;
  publish(subject: string, payload?: Payload): void;
  status(): AsyncIterable<ConnectionStatus>;
}

/** The confirmation that a message is stored. */
export interface PubAck {
  /** The sequence number of the message. */
  readonly seq: number;
  /** Whether a message with the same msgID was stored before. */
  readonly duplicate: boolean;
}

/** A message of a consumer. */
export interface JsMsg {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly redelivered: boolean;
  /** The sequence number of the message in its stream. */
  readonly seq: number;
  /** When the server stored the message. */
  readonly time: Date;
  readonly info: { readonly deliveryCount: number; readonly pending: number };
  readonly headers?: { get(name: string): string };
  string(): string;
  ack(): void;
  /** Acknowledges, and waits until the server has confirmed it. */
  ackAck(options?: { timeout?: number }): Promise<boolean>;
  /** Returns the message, to be delivered again after a delay in milliseconds. */
  nak(millis?: number): void;
  /** Refuses the message: it is not delivered again. */
  term(reason?: string): void;
  /** Starts the waiting time for the acknowledgement again. */
  working(): void;
}

/** Values that arrive one after the other. */
export interface Received<T> extends AsyncIterable<T> {
  stop(error?: Error): void;
}

export interface ConsumerMessages extends Received<JsMsg> {
  close(): Promise<void | Error>;
}

export interface ConsumerInfo {
  readonly name: string;
  readonly config: Omit<ConsumerConfig, "ack_policy">;
  /** Number of messages that are not delivered yet. */
  readonly num_pending: number;
  /** Number of messages that are delivered and not acknowledged. */
  readonly num_ack_pending: number;
  /** The number of messages that were delivered again and are not acknowledged. */
  readonly num_redelivered: number;
  readonly num_waiting: number;
  /** The last message before which all are acknowledged. */
  readonly ack_floor: { readonly stream_seq: number };
}

/** The configuration of a consumer; times in nanoseconds. */
export interface ConsumerConfig {
  durable_name?: string;
  filter_subject?: string;
  ack_policy?: "none" | "all" | "explicit";
  ack_wait?: number;
  max_deliver?: number;
  max_ack_pending?: number;
  inactive_threshold?: number;
}

/** A durable pull consumer. */
export interface Consumer {
  /** Requests messages. `expires` is at least 1,000 ms. */
  fetch(options: { max_messages: number; expires: number }): Promise<ConsumerMessages>;
  next(options: { expires: number }): Promise<JsMsg | null>;
  info(cached?: boolean): Promise<ConsumerInfo>;
  delete(): Promise<boolean>;
}

/** Publishes and consumes. */
export interface JetStreamClient {
  publish(subject: string, payload?: Payload, options?: {
    msgID?: string;
    timeout?: number;
  }): Promise<PubAck>;
  readonly consumers: { get(stream: string, name: string): Promise<Consumer> };
}

/** The configuration of a stream; times in nanoseconds. */
export interface StreamConfig {
  name: string;
  subjects: string[];
  retention: "limits" | "interest" | "workqueue";
  discard: "old" | "new";
  duplicate_window: number;
  max_age: number;
  max_bytes: number;
  max_msgs_per_subject: number;
  num_replicas: number;
  /** Whether a message may replace all earlier ones of its subject. */
  allow_rollup_hdrs: boolean;
  /** Whether a message of a subject that has `max_msgs_per_subject` is refused. Default: false. */
  discard_new_per_subject?: boolean;
}

export interface StreamInfo {
  readonly config: StreamConfig;
  readonly state: {
    readonly messages: number;
    readonly bytes: number;
    readonly first_seq: number;
    readonly last_seq: number;
    /** The number of messages of each subject, if the request had a `subjects_filter`. */
    readonly subjects?: Record<string, number>;
  };
  readonly cluster?: { readonly leader?: string };
}

export interface StoredMsg {
  readonly subject: string;
  readonly seq: number;
  readonly time: Date;
  readonly data: Uint8Array;
}

/** Creates and describes streams and consumers. */
export interface JetStreamManager {
  readonly streams: {
    add(config: Partial<StreamConfig> & { name: string }): Promise<StreamInfo>;
    update(name: string, config: Partial<StreamConfig>): Promise<StreamInfo>;
    info(name: string, options?: { subjects_filter: string }): Promise<StreamInfo>;
    delete(name: string): Promise<boolean>;
    purge(
      name: string,
      options?: { filter?: string; seq: number } | { filter?: string; keep: number } | {
        filter: string;
      },
    ): Promise<{ readonly purged: number }>;
    getMessage(
      name: string,
      query: { last_by_subj: string } | { seq: number },
    ): Promise<StoredMsg | null>;
    deleteMessage(name: string, seq: number): Promise<boolean>;
  };
  readonly consumers: {
    add(stream: string, config: ConsumerConfig): Promise<ConsumerInfo>;
    update(stream: string, name: string, config: ConsumerConfig): Promise<ConsumerInfo>;
    info(stream: string, name: string): Promise<ConsumerInfo>;
    delete(stream: string, name: string): Promise<boolean>;
    list(stream: string): AsyncIterable<ConsumerInfo>;
  };
  getAccountInfo(): Promise<{ readonly streams: number; readonly consumers: number }>;
  jetstream(): JetStreamClient;
}

/** An entry of a bucket. */
export interface KvEntry {
  readonly key: string;
  readonly value: Uint8Array;
  readonly revision: number;
  /** When the server stored the entry. */
  readonly created: Date;
  readonly operation: "PUT" | "DEL" | "PURGE";
  string(): string;
}

export interface WatchedEntry extends KvEntry {
  /** Whether the entry is the last of those that existed before, or a later one. */
  readonly isUpdate: boolean;
}

/** A bucket of keys. A `version` is the revision that the key must have. */
export interface KV {
  get(key: string): Promise<KvEntry | null>;
  put(key: string, value: Payload): Promise<number>;
  create(key: string, value: Payload): Promise<number>;
  update(key: string, value: Payload, version: number, timeout?: number): Promise<number>;
  delete(key: string): Promise<void>;
  keys(filter?: string): Promise<Received<string>>;
  /** All entries; it ends after the last one. */
  history(options?: { key?: string }): Promise<Received<KvEntry>>;
  /** All entries, and then each update. */
  watch(options?: { key?: string }): Promise<Received<WatchedEntry>>;
}

export interface ObjectStore {
  info(name: string): Promise<{ readonly size: number; readonly deleted: boolean } | null>;
  list(): Promise<readonly { readonly name: string; readonly size: number }[]>;
  getBlob(name: string): Promise<Uint8Array | null>;
  putBlob(meta: { name: string }, data: Uint8Array): Promise<unknown>;
  delete(name: string): Promise<unknown>;
}

/** Makes the fields of a user's proof for the server's `nonce`. */
export type Authenticator = (nonce?: string) => object | void;

export interface Buckets {
  open(name: string): Promise<KV>;
}

export interface ObjectStores {
  open(name: string): Promise<ObjectStore>;
}

/** Options of `connect()`: see the documentation of the client. */
export interface ConnectOptions {
  servers: string[];
  name: string;
  authenticator: Authenticator[];
  inboxPrefix?: string;
  tls?: { ca?: string };
  timeout: number;
  pingInterval: number;
  reconnectTimeWait: number;
  reconnectJitter: number;
  reconnectJitterTLS: number;
  maxReconnectAttempts: number;
  ignoreAuthErrorAbort: boolean;
}

/** The exports of the client's modules. */
export interface NatsClient {
  connect(options: ConnectOptions): Promise<NatsConnection>;
  credsAuthenticator(credentials: Uint8Array): Authenticator;
  nkeyAuthenticator(seed: Uint8Array): Authenticator;
  tokenAuthenticator(token: string): Authenticator;
  usernamePasswordAuthenticator(user: string, password?: string): Authenticator;
  jetstreamManager(connection: NatsConnection): Promise<JetStreamManager>;
  readonly Kvm: new (js: JetStreamClient) => Buckets;
  readonly Objm: new (js: JetStreamClient) => ObjectStores;
}
