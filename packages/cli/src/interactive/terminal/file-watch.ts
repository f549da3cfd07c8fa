import { type FSWatcher, realpathSync, watch } from "node:fs";
import { basename, dirname } from "node:path";

/** Editors write in several steps; what comes this close together is one change. */
const togetherMs = 40;

/** Owner of the watch over one file: written in place, put in its place by another, taken away, with its folder too, or behind a link. */
export class FileWatch {
  readonly #onChange: (path: string) => void;
  #path: string | undefined;
  #watchers: FSWatcher[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(onChange: (path: string) => void) {
    this.#onChange = onChange;
  }

  /**
   * Watches this file, and none before it; undefined watches none. `onChange` is called once at first, too: the file may
   * have changed between being read and being watched.
   */
  follow(path: string | undefined): void {
    if (path === this.#path) return;
    this.#path = path;
    clearTimeout(this.#timer);
    this.#watchAnew(path);
    if (path !== undefined) this.#changed(path);
  }

  #watchAnew(path: string | undefined): void {
    for (const watcher of this.#watchers) watcher.close();
    const watched = path === undefined ? [] : watchedPaths(path);
    this.#watchers = watched.flatMap((each) => this.#watched(each, () => this.#changed(path!)));
  }

  #watched(path: string, onChange: () => void): FSWatcher[] {
    try {
      // Its folder, for what is replaced is another one.
      const watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
        if (name === null || name === basename(path)) onChange();
      });
      watcher.on("error", () => watcher.close());
      return [watcher];
    } catch {
      // Some file systems cannot be watched: `/reload` reads it anew.
      return [];
    }
  }

  #changed(path: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // A link may lead elsewhere now.
      this.#watchAnew(path);
      this.#onChange(path);
    }, togetherMs).unref();
  }
}

/** The file, and where a link leads; and their folders, which can be replaced as a whole. */
function watchedPaths(path: string): string[] {
  const files = [path];
  try {
    files.push(realpathSync(path));
  } catch {
    // Gone for now.
  }
  return [...new Set([...files, ...files.map((file) => dirname(file))])];
}
