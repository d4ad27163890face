/** Moments at which a scan is killed, and what its checkpoint says then. */

/** When to kill. */
export interface Moment {
  /** What it is, for a table. */
  readonly name: string;
  /** Resolves when it has come. */
  readonly come: () => Promise<void>;
}

/** So long after the start. */
export function after(ms: number): Moment {
  return { name: `after ${ms} ms`, come: () => new Promise((come) => setTimeout(come, ms)) };
}

/** When something happens to a file of a folder for the n-th time, as reported by inotify. */
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

/** The text of a file; nothing where there is none. */
export function textOf(path: string): Promise<string> {
  return Deno.readTextFile(path).catch(() => "");
}

/** The rows that a checkpoint's list names; a torn last line names none. */
export function listed(lines: string): string[] {
  return lines.split("\n").slice(0, -1).filter((line) => line.startsWith("+ "))
    .flatMap((line) => line.split(" ").slice(2));
}

/** Pass and position, as a table shows them. */
export function marksOf(checkpoint: string): [udp: string, tcp: string] {
  const { marks } = JSON.parse(checkpoint.split("sha256 ")[0]);
  return [marks.udp, marks.tcp].map(({ pass, position }) => `${pass}:${position}`) as [
    string,
    string,
  ];
}

/** When a moment comes, or so long after the start: some things happen no more late in a scan. */
export function within(ms: number, moment: Moment): Moment {
  return {
    name: moment.name,
    come: () => Promise.race([moment.come(), after(ms).come()]),
  };
}
