import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { SessionSearch } from "../src/search/index.ts";
import type { SessionSearchOptions } from "../src/search/session-search.ts";

/** A home folder with session files, gone after the test. */
export class RecordedHome {
  readonly path = mkdtempSync(join(tmpdir(), "bonsai-search-"));
  readonly notices: string[] = [];
  #entries = 0;

  constructor() {
    mkdirSync(join(this.path, "sessions/-p"), { recursive: true });
    onTestFinished(() => rmSync(this.path, { recursive: true, force: true }));
  }

  /** The path of a session of the working folder `/p`. */
  file(name = "one"): string {
    return join(this.path, `sessions/-p/${name}.jsonl`);
  }

  /** Starts a session file anew. A restored copy has the id of its original. */
  write(name: string, ...texts: string[]): void {
    const header = {
      type: "session",
      version: 3,
      id: name.replace(/\.restored\d*$/, ""),
      timestamp: "2026-01-05T09:00:00.000Z",
      cwd: "/p",
    };
    writeFileSync(this.file(name), `${JSON.stringify(header)}\n`);
    this.append(name, ...texts);
  }

  /** As another process appends. */
  append(name: string, ...texts: string[]): void {
    appendFileSync(this.file(name), texts.map((text) => `${this.line(text)}\n`).join(""));
  }

  line(content: string): string {
    const number = this.#entries++;
    return JSON.stringify({
      type: "message",
      id: (0xe0000000 + number).toString(16),
      parentId: null,
      timestamp: new Date(Date.UTC(2026, 0, 5) + 1000 * number).toISOString(),
      message: { role: "user", content, timestamp: 0 },
    });
  }

  /** A search that is closed after the test. */
  search(options: SessionSearchOptions = {}): SessionSearch {
    const onNotice = ({ code }: { code: string }) => this.notices.push(code);
    const search = new SessionSearch({ home: this.path, onNotice, ...options });
    onTestFinished(() => search.close());
    return search;
  }

  /** The files of the index. */
  indexFiles(): string[] {
    return readdirSync(join(this.path, "index")).map((name) => join(this.path, "index", name));
  }
}

/** The snippets of all hits, sorted. */
export async function snippets(search: SessionSearch, query: string): Promise<string[]> {
  const { hits } = await search.find(query, { limit: Number.POSITIVE_INFINITY, budgetMs: 60_000 });
  return hits.map(({ snippet }) => snippet).sort();
}
