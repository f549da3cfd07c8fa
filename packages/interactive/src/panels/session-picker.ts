import { existsSync, mkdirSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { counted } from "@bonsai-agent/app/numbers";
import { oneLine } from "@bonsai-agent/app/terminal-text";
import { listSessions, openSession, type SessionSummary, searchEntries } from "@bonsai-agent/session";
import { errorLine } from "../error-text.ts";
import type { Screen } from "../terminal/screen.ts";
import { askText, askYes } from "./ask.ts";
import { wholePath } from "./panel-frame.ts";
import { PickList } from "./pick-list.ts";
import { type ListedSession, sessionPreview, sessionRow, sessionText, sessionTitle } from "./session-row.ts";

interface PickSessionOptions {
  screen: Screen;
  home: string;
  cwd: string;
  now: () => number;
  /** The file of the session that is worked in: it can be named, and not deleted. */
  inUse?: string | undefined;
  /** Names the session that is worked in. */
  nameInUse?: (name: string) => Promise<void>;
}

/**
 * Lets the user choose among the recorded sessions: of this folder, or of all; by name, first words and folder, or by
 * their whole text. They can be named there, and deleted. @returns undefined where the user left it
 */
export async function pickSession(options: PickSessionOptions): Promise<SessionSummary | undefined> {
  let picker: SessionPicker | undefined;
  const picked = await options.screen.show<SessionSummary>((done) => {
    picker = new SessionPicker(options, done);
    return picker.list;
  });
  picker?.stopSearch();
  return picked;
}

/** Owner of which sessions are listed while one is picked. */
class SessionPicker {
  readonly list: PickList<ListedSession>;
  readonly #options: PickSessionOptions;
  #isEverywhere = false;
  #sessions: readonly ListedSession[] = [];
  #searching = new AbortController();
  #isAsking = false;
  readonly #deleted: { file: string; inTrash: string }[] = [];
  /** What a search of the texts has found; undefined where none stands. */
  #hits: ListedSession[] | undefined;

  constructor(options: PickSessionOptions, done: (session: SessionSummary | undefined) => void) {
    const { screen, now, cwd, inUse } = options;
    this.#options = options;
    const nowMs = now();
    this.list = new PickList<ListedSession>({
      place: screen,
      title: "",
      items: [],
      key: ({ file }) => file,
      text: sessionText,
      row: (session) => sessionRow(session, { nowMs, inUse, cwd, hasFolders: this.#isEverywhere }),
      preview: (session, width) => sessionPreview(session, { theme: screen.theme, width, nowMs }),
      noMatch: "Nothing matches; Ctrl-F looks through the whole texts.",
      picks: "open",
      onPick: done,
      onCancel: () => done(undefined),
      onQuery: () => this.#queryChanged(),
      actions: [
        { key: "tab", does: "this folder or all", run: () => this.#toggleFolders() },
        { key: "ctrl+f", does: "search the whole text", run: () => this.#startSearch() },
        { key: "ctrl+r", does: "rename", run: (session) => this.#guard(() => this.#rename(session)) },
        { key: "ctrl+d", does: "delete", run: (session) => this.#guard(() => this.#delete(session)) },
        { key: "ctrl+z", does: "", run: () => this.#guard(() => this.#takeBack()) },
      ],
    });
    this.#reload();
  }

  #reload(): void {
    const { home, cwd } = this.#options;
    const { sessions, skipped } = listSessions(this.#isEverywhere ? { home } : { home, cwd });
    this.#sessions = sessions;
    const place = this.#isEverywhere ? "all folders" : `in ${wholePath(cwd)}`;
    const isPlural = skipped.length !== 1;
    this.list.update({
      title: `Sessions, ${place}`,
      empty: this.#emptyWords(),
      status:
        skipped.length === 0
          ? undefined
          : `${counted(skipped.length, "file")} ${isPlural ? "are" : "is"} no session that can be read; \`bonsai sessions\` names ${isPlural ? "them" : "it"}.`,
    });
    this.#show();
  }

  /** The sessions; or, where their texts were searched, those that were found, as they are now. */
  #show(): void {
    const hits = this.#hits?.flatMap(({ file, snippet }) => {
      const session = this.#sessions.find((each) => each.file === file);
      return session === undefined ? [] : [{ ...session, snippet }];
    });
    this.#hits = hits;
    this.list.setItems(hits ?? this.#sessions, hits !== undefined);
  }

  #emptyWords(): string {
    if (this.#hits !== undefined) return "Nothing found.";
    return this.#isEverywhere
      ? "No session was recorded yet."
      : "No session was recorded in this folder; Tab shows those of all folders.";
  }

  #toggleFolders(): void {
    this.#searching.abort();
    this.#hits = undefined;
    this.#isEverywhere = !this.#isEverywhere;
    this.#reload();
  }

  #queryChanged(): void {
    this.#searching.abort();
    this.#hits = undefined;
    this.list.update({ status: undefined, empty: this.#emptyWords() });
    this.#show();
  }

  stopSearch(): void {
    this.#searching.abort();
  }

  /** Other things can be done meanwhile. */
  #startSearch(): void {
    this.#searchTexts().catch((error: unknown) => this.list.update({ status: errorLine(error) }));
  }

  async #searchTexts(): Promise<void> {
    const query = this.list.model.query.trim();
    if (query === "") return this.list.update({ status: "Type what to look for, then search again." });
    this.#searching.abort();
    this.#searching = new AbortController();
    const { signal } = this.#searching;
    this.#hits = [];
    const sessions = this.#sessions;
    const status = `Searching ${counted(sessions.length, "session")} for “${query}” …`;
    this.list.update({ status, empty: "Nothing found so far." });
    this.#show();
    let unread = 0;
    for (const session of sessions) {
      // Keys come between two of them.
      await new Promise((resolve) => setImmediate(resolve));
      if (signal.aborted) return;
      try {
        const snippet = firstHit(session.file, query);
        if (snippet === undefined) continue;
        this.#hits = [...(this.#hits ?? []), { ...session, snippet }];
        this.#show();
      } catch {
        // A session that cannot be read is counted; the others are still looked through.
        unread += 1;
      }
    }
    const failed = unread === 0 ? "" : ` ${counted(unread, "session")} could not be read.`;
    const found = counted(this.#hits.length, "session");
    this.list.update({
      empty: this.#emptyWords(),
      status: `${found} with “${query}” in the text.${failed}`,
    });
  }

  async #rename(session: ListedSession | undefined): Promise<void> {
    if (session === undefined) return;
    const { screen, inUse, nameInUse } = this.#options;
    const typed = await askText(screen, {
      title: "Name of the session",
      message: session.firstWords ?? "",
      value: session.name ?? "",
      placeholder: "no name",
    });
    if (typed === undefined) return;
    const name = oneLine(typed);
    const notices: string[] = [];
    if (session.file === inUse && nameInUse !== undefined) await nameInUse(name);
    else nameFile(session.file, name, (message) => notices.push(message));
    this.#reload();
    if (notices.length > 0) this.list.update({ status: notices.join(" ") });
  }

  async #delete(session: ListedSession | undefined): Promise<void> {
    if (session === undefined) return;
    const { screen, home, inUse } = this.#options;
    if (session.file === inUse)
      return this.list.update({ status: "This session is in use: open another, then delete it from there." });
    const isSure = await askYes(screen, {
      title: "Delete this session?",
      message: `${sessionTitle(session)}\n\nIts file goes to ${wholePath(trashFolder(home))}, and nothing empties that folder.`,
    });
    if (!isSure) return;
    const inTrash = trashSession(session.file, home);
    this.#deleted.push({ file: session.file, inTrash });
    this.#reload();
    this.list.update({ status: `Moved to ${wholePath(trashFolder(home))}. Ctrl-Z takes it back.` });
  }

  /** The latest that was deleted here. */
  async #takeBack(): Promise<void> {
    const latest = this.#deleted.at(-1);
    if (latest === undefined) return this.list.update({ status: "Nothing was deleted here." });
    takeBack(latest);
    this.#deleted.pop();
    this.#reload();
    this.list.model.select(latest.file);
    this.list.update({ status: "The session is back." });
  }

  /** One thing at a time; what fails stands below the list. */
  #guard(act: () => Promise<void>): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    act()
      .catch((error: unknown) => this.list.update({ status: errorLine(error) }))
      .finally(() => {
        this.#isAsking = false;
      });
  }
}

function nameFile(file: string, name: string, onNotice: (message: string) => void): void {
  const session = openSession(file, { onNotice: ({ message }) => onNotice(message) });
  try {
    session.append({ type: "session_info", name });
  } finally {
    session.close();
  }
}

/** The first place in the whole text of a session, branches included, with some text around it. */
function firstHit(file: string, query: string): string | undefined {
  const session = openSession(file, { onNotice: () => {} });
  try {
    for (const { snippet } of searchEntries(session, query)) return snippet;
    return undefined;
  } finally {
    session.close();
  }
}

/** Where deleted sessions lie, in the folders that they had among the recorded ones. */
function trashFolder(home: string): string {
  return join(home, "trash");
}

/**
 * Moves a session's file to the trash: it is found there under its own folder's name, and moved back to have it again.
 * @returns where it lies now
 * @throws what the file system throws; then nothing has changed
 */
function trashSession(file: string, home: string): string {
  const folder = join(trashFolder(home), basename(dirname(file)));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const to = freeName(join(folder, basename(file, ".jsonl")));
  renameSync(file, to);
  return to;
}

/** Moves a session's file back from the trash. @throws what the file system throws, and where another has its place */
function takeBack({ file, inTrash }: { file: string; inTrash: string }): void {
  if (existsSync(file)) throw new Error(`${file} is there already.`);
  renameSync(inTrash, file);
}

/** Nothing in the trash is written over. */
function freeName(stem: string): string {
  for (let at = 0; ; at += 1) {
    const file = `${stem}${at === 0 ? "" : `-${at}`}.jsonl`;
    if (!existsSync(file)) return file;
  }
}
