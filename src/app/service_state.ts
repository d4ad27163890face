/**
 * Reports the state of the program to the service manager that started it, with the protocol
 * sd_notify of systemd: datagrams to the socket in NOTIFY_SOCKET. Without that variable, or without
 * the permission to read it, nothing is sent.
 *
 * Sources: sd_notify(3), sd_watchdog_enabled(3).
 *
 * @module
 */
import { randomBytes } from "./system_random.ts";
import { type Clock, sleep } from "../net/clock.ts";
import { env, reason } from "./environment.ts";

/** Maximum wait for the last message at the end of the program, milliseconds. */
const LAST_MESSAGE_MS = 1000;

/** A running service, as its manager sees it. */
export interface RunningService {
  /** Whether the main loop has made progress since the last call. It must not reject. */
  readonly hasProgress: () => boolean | Promise<boolean>;
  /** The state in a few words, for `systemctl status`. Default: none. */
  readonly status?: () => string;
}

/** What a {@linkcode ServiceState} needs. */
export interface ServiceStateOptions {
  /** The clock of the watchdog. */
  readonly clock: Pick<Clock, "after">;
  /** Aborted when the service begins to end. */
  readonly signal: AbortSignal;
  /** Receives a line when the service manager becomes unreachable. */
  readonly warn: (line: string) => void;
  /** Returns a variable of the environment. Default: that of this process. */
  readonly variable?: (name: "NOTIFY_SOCKET" | "WATCHDOG_USEC") => string | undefined;
  /** Opens a socket for messages to an address. Default: {@linkcode openNotifySocket}. */
  readonly open?: (address: string) => NotifySocket;
}

/** A socket for messages to the service manager. */
export interface NotifySocket extends Disposable {
  send(text: string): Promise<unknown>;
}

/** The state of a service: started, running, stopping. */
export class ServiceState implements AsyncDisposable {
  readonly #options: ServiceStateOptions;
  #socket: NotifySocket | undefined;
  #sent: Promise<void> = Promise.resolve();
  #isFailing = false;
  #cancel = () => {};
  #rounds = 0;
  #seenRounds = 0;

  /** Opens the socket, and sends nothing. */
  constructor(options: ServiceStateOptions) {
    const { signal, variable = env, open = openNotifySocket } = this.#options = options;
    const address = variable("NOTIFY_SOCKET");
    if (address === undefined || address === "") return;
    try {
      this.#socket = open(address);
    } catch (error) {
      this.#fail(error);
      return;
    }
    signal.addEventListener("abort", () => this.#send("STOPPING=1"), { once: true });
  }

  /** Reports that the service is up. From now on its progress feeds the watchdog. */
  ready(service: RunningService): void {
    if (this.#socket === undefined) return;
    this.#send(`READY=1${statusLine(service)}`);
    const { variable = env } = this.#options;
    const microseconds = Number(variable("WATCHDOG_USEC"));
    if (microseconds > 0) this.#watch(service, microseconds / 2000);
  }

  /** Counts a round of the main loop: the first one reports that the service is up. */
  readonly round = (): void => {
    this.#rounds++;
    if (this.#rounds > 1) return;
    this.ready({
      hasProgress: () => {
        const before = this.#seenRounds;
        this.#seenRounds = this.#rounds;
        return this.#rounds > before;
      },
    });
  };

  /** Feeds the watchdog at intervals, as long as there is progress. */
  #watch(service: RunningService, everyMs: number): void {
    this.#cancel = this.#options.clock.after(everyMs, async () => {
      const hasProgress = await service.hasProgress();
      if (this.#socket === undefined) return; // it has ended meanwhile
      if (hasProgress) this.#send(`WATCHDOG=1${statusLine(service)}`);
      this.#watch(service, everyMs);
    });
  }

  /** Sends a message after the earlier ones. The service manager may be reachable again later. */
  #send(text: string): void {
    const socket = this.#socket;
    this.#sent = this.#sent.then(() => socket?.send(text)).then(() => {
      this.#isFailing = false;
    }, (error) => {
      if (this.#socket !== undefined) this.#fail(error); // else the end may have cancelled the message
    });
  }

  #fail(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.warn(`blocksweep: cannot notify the service manager: ${reason(error)}`);
  }

  /** Closes the socket after the last message, or after a second if the socket accepts none. */
  async [Symbol.asyncDispose](): Promise<void> {
    const socket = this.#socket;
    this.#socket = undefined; // no message follows
    this.#cancel();
    const sent = new AbortController();
    void this.#sent.then(() => sent.abort());
    await sleep(this.#options.clock, LAST_MESSAGE_MS, sent.signal);
    socket?.[Symbol.dispose]();
  }
}

function statusLine({ status }: RunningService): string {
  return status === undefined ? "" : `\nSTATUS=${status()}`;
}

/**
 * Opens a socket for messages to another one. Deno has no sockets without an address, therefore the
 * socket has a random one in Linux's abstract namespace, which needs no file.
 *
 * @param address The address of the service manager's socket: a path, or `@` and an abstract name.
 */
export function openNotifySocket(address: string): NotifySocket {
  const path = address.replace(/^@/, "\0");
  const own = `\0blocksweep-${randomBytes(16).toHex()}`;
  const socket = Deno.listenDatagram({ transport: "unixpacket", path: own });
  return {
    send: (text) => socket.send(new TextEncoder().encode(text), { transport: "unixpacket", path }),
    [Symbol.dispose]: () => socket.close(),
  };
}
