/** Moments at which a scan is killed, and what its checkpoint contains then. */

/** A moment at which a scan is killed. */
export interface Moment {
  /** Its description in a table. */
  readonly name: string;
  /** Resolves at the moment. */
  readonly come: () => Promise<void>;
}

/** A time after the start. */
export function after(ms: number): Moment {
  return { name: `after ${ms} ms`, come: () => new Promise((come) => setTimeout(come, ms)) };
}

/** The n-th event of a file in a folder, as reported by inotify. */
export function fileEvent(
  { name, folder, kind, path, nth }: {
    readonly name: string;
    readonly folder: string;
    readonly kind: Deno.FsEvent["kind"];
    readonly path: string;
    readonly nth: number;
  },
): Moment {
  return {
    name: `${name} (${nth})`,
    async come() {
      using watcher = Deno.watchFs(folder);
      let seen = 0;
      for await (const one of watcher) {
        if (one.kind === kind && one.paths.includes(path) && ++seen === nth) return;
      }
    },
  };
}

/** The text of a file; empty if the file does not exist. */
export function textOf(path: string): Promise<string> {
  return Deno.readTextFile(path).catch(() => "");
}

/** The servers whose rows are in a checkpoint's list. An incomplete last line is ignored. */
export function listed(lines: string): string[] {
  return lines.split("\n").slice(0, -1).filter((line) => line.startsWith("+ "))
    .flatMap((line) => line.split(" ").slice(2));
}

/** Opens a file as soon as it exists. */
export async function opened(path: string): Promise<Deno.FsFile> {
  while (true) {
    try {
      return await Deno.open(path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      await after(10).come();
    }
  }
}

/**
 * The passes of an adaptive scan in a checkpoint's list, one text for each: what it was planned with,
 * the digest of its plan, and the servers that it found, in order. The fingerprints of servers are
 * left out: those whose row was written before a kill have none.
 */
export function passesIn(lines: string): string[] {
  return lines.split("\n").slice(0, -1).filter((line) => line.startsWith("= ")).map((line) => {
    const { found, ...planned } = JSON.parse(line.slice(2));
    const servers = (found as { servers: string[] }[])
      .map((one) => one.servers.map((server) => server.split("/")[0]).toSorted());
    return JSON.stringify({ ...planned, servers });
  });
}

/** The pass and position of each mark, for a table. */
export function marksOf(checkpoint: string): [udp: string, tcp: string] {
  const { marks } = JSON.parse(checkpoint.split("sha256 ")[0]);
  return [marks.udp, marks.tcp].map(({ pass, position }) => `${pass}:${position}`) as [
    string,
    string,
  ];
}

/** The earlier of a moment and a time after the start. Some events do not occur late in a scan. */
export function within(ms: number, moment: Moment): Moment {
  return {
    name: moment.name,
    come: () => Promise.race([moment.come(), after(ms).come()]),
  };
}
