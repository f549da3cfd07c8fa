import { existsSync } from "node:fs";
import { listSessions, openSession, type SessionSummary } from "@bonsai-agent/session";
import type { SearchThread } from "@bonsai-agent/session/search";
import { moveSession, moveToTrash, type SessionPlace, trashFolder } from "../../call/session-file.ts";
import { age, bytes, count, counted, moment } from "../../views/numbers.ts";
import { forkWords } from "../../views/session-facts.ts";
import { oneLine } from "../../views/terminal-text.ts";
import type { Screen } from "../terminal/screen.ts";
import { askText, askYes } from "./ask.ts";
import { textLines, wholePath } from "./panel-frame.ts";
import { PickList, type PickRow, showList } from "./pick-list.ts";

interface PickSessionOptions {
  screen: Screen;
  place: SessionPlace;
  cwd: string;
  now: () => number;
  search: Pick<SearchThread, "find">;
  /** The file of the open session: it can be named but not deleted. */
  inUse?: string | undefined;
  query?: string;
  nameInUse?: (name: string) => Promise<void>;
}

/**
 * Lets the user choose a recorded session of this folder or of all folders, by name, first words, folder or any text in it.
 * The list also renames and deletes sessions.
 * @returns undefined if the user left the list
 */
export function pickSession(options: PickSessionOptions): Promise<SessionSummary | undefined> {
  return showList(options.screen, (done) => new SessionPicker(options, done).list);
}

/** One or two letters are in every session. */
const TOO_SHORT = /^[\0-\x7f]{0,2}$/;
/** Time to index before each update of the list. */
const INDEXING_MS = 500;

/** Owner of the listed sessions and of the search in their texts. */
class SessionPicker {
  readonly list: PickList<SessionSummary>;
  readonly #options: PickSessionOptions;
  #isEverywhere = false;
  #sessions: readonly SessionSummary[] = [];
  #skipped = 0;
  /** The found places of a query, by session file. */
  readonly #snippets = new Map<string, string>();
  #searched = "";
  /** Sessions that the search still has to index. */
  #unindexed = 0;
  #unread = 0;
  readonly #deleted: { file: string; inTrash: string }[] = [];

  constructor(options: PickSessionOptions, done: (session: SessionSummary | undefined) => void) {
    this.#options = options;
    this.list = new PickList<SessionSummary>({
      place: options.screen,
      title: "",
      items: [],
      query: options.query,
      key: ({ file }) => file,
      text: sessionText,
      isFound: ({ file }) => this.#searched === this.list.query && this.#snippets.has(file),
      row: (session) => this.#row(session),
      preview: (session, width) => this.#preview(session, width),
      picks: "open",
      onPick: done,
      onCancel: () => done(undefined),
      search: (query, signal) => this.#search(query, signal),
      actions: [
        { key: "tab", does: "this folder or all", run: () => this.#toggleFolders() },
        { key: "ctrl+r", does: "rename", run: (session) => session && this.#rename(session) },
        { key: "ctrl+d", does: "delete", run: (session) => session && this.#delete(session) },
        { key: "ctrl+z", does: "", run: () => this.#restore() },
      ],
    });
    this.#reload();
  }

  #reload(): void {
    const { place, cwd } = this.#options;
    const { sessions, skipped } = listSessions(this.#isEverywhere ? place : { ...place, cwd });
    this.#sessions = sessions;
    this.#skipped = skipped.length;
    this.#show();
  }

  #show(): void {
    const place = this.#isEverywhere ? "all folders" : wholePath(this.#options.cwd);
    const reading =
      this.#unindexed === 0 ? "" : ` · reading ${counted(this.#unindexed, "session")} not yet indexed…`;
    const unread = Math.max(this.#skipped, this.#unread);
    this.list.update({
      title: `Sessions in ${place}${reading}`,
      empty: this.#isEverywhere
        ? "No sessions yet."
        : "No sessions in this folder yet. Tab shows all folders.",
      status:
        unread === 0
          ? undefined
          : `${counted(unread, "file")} could not be read as a session. Run \`bonsai session list\` to see which.`,
    });
    this.list.setItems(this.#sessions);
  }

  #toggleFolders(): void {
    this.#isEverywhere = !this.#isEverywhere;
    this.#reload();
    this.list.searchAgain();
  }

  /** Searches the texts of the sessions. Repeats until the index has all of them. */
  async #search(query: string, signal: AbortSignal): Promise<void> {
    this.#snippets.clear();
    this.#searched = query;
    this.#unindexed = 0;
    this.#unread = 0;
    this.#show();
    if (TOO_SHORT.test(query.trim())) return;
    const { place, cwd, search } = this.#options;
    const folder = place.folder === undefined ? {} : { folder: place.folder };
    const scope = this.#isEverywhere ? folder : { ...folder, cwd };
    do {
      const limit = Math.max(1, this.#sessions.length);
      const found = await search.find(query, { scope, limit, perSession: 1, budgetMs: INDEXING_MS, signal });
      signal.throwIfAborted();
      this.#snippets.clear();
      for (const { file, snippet } of found.hits) this.#snippets.set(file, snippet);
      this.#unread = found.unread.length;
      this.#unindexed = found.unindexed;
      this.#show();
    } while (this.#unindexed > 0);
  }

  #row(session: SessionSummary): PickRow {
    const { now, inUse, cwd } = this.#options;
    const isByText = this.#snippets.has(session.file) && !this.list.hasQuery(session);
    const folder = this.#isEverywhere ? `${lastFolder(session.cwd, cwd)} · ` : "";
    const fork = session.parentSession === undefined ? "" : "fork · ";
    return {
      label: sessionTitle(session),
      detail: `${fork}${folder}${age(session.lastActivityMs, now())}`,
      mark: [...(session.file === inUse ? ["●"] : []), ...(isByText ? ["found in text"] : [])].join(" "),
    };
  }

  #preview(session: SessionSummary, width: number): string[] {
    const { screen, now } = this.#options;
    const { bold, muted, accent } = screen.theme.style;
    const { name, firstWords, digest } = session;
    const snippet = this.#snippets.get(session.file);
    const styled = (text: string | undefined, style: (text: string) => string, max: number) =>
      text ? textLines(text, width).slice(0, max).map(style) : [];
    return [
      ...styled(snippet && `“${snippet}”`, accent, 2),
      ...styled(sessionTitle(session), bold, 1),
      ...styled(name !== undefined && firstWords !== name ? firstWords : undefined, (text) => text, 2),
      ...styled(factsOf(session, now()), muted, 3),
      ...styled(session.cwd === "" ? "no folder" : wholePath(session.cwd), muted, 1),
      ...styled(digest?.summary, muted, 2),
    ];
  }

  async #rename(session: SessionSummary): Promise<string | undefined> {
    const { screen, inUse, nameInUse } = this.#options;
    const typed = await askText(screen, {
      title: "Session name",
      message: session.firstWords ?? "",
      value: session.name ?? "",
      placeholder: "no name",
    });
    if (typed === undefined) return undefined;
    const name = oneLine(typed);
    const notices: string[] = [];
    if (session.file === inUse && nameInUse !== undefined) await nameInUse(name);
    else nameFile(session.file, name, (message) => notices.push(message));
    this.#reload();
    return notices.length > 0 ? notices.join(" ") : undefined;
  }

  async #delete(session: SessionSummary): Promise<string | undefined> {
    const { screen, place, inUse } = this.#options;
    if (session.file === inUse)
      return "This session is open. Open another session first, then delete this one.";
    const trash = wholePath(trashFolder(place.home));
    const isSure = await askYes(screen, {
      title: "Delete this session?",
      message: `${sessionTitle(session)}\n\nThe file moves to ${trash}. Bonsai never empties this folder.`,
    });
    if (!isSure) return undefined;
    this.#deleted.push({ file: session.file, inTrash: moveToTrash(session.file, place.home) });
    this.#reload();
    return `Moved to ${trash}. Press Ctrl-Z to restore it.`;
  }

  /** Restores the session that was deleted last in this list. */
  #restore(): string {
    const latest = this.#deleted.at(-1);
    if (latest === undefined) return "There is no deleted session to restore.";
    if (existsSync(latest.file)) throw new Error(`${latest.file} already exists.`);
    moveSession(latest.inTrash, latest.file);
    this.#deleted.pop();
    this.#reload();
    this.list.select(latest.file);
    return "Restored the session.";
  }
}

function sessionTitle({ name, firstWords }: SessionSummary): string {
  return name ?? firstWords ?? "(no messages)";
}

function sessionText({ name = "", firstWords = "", cwd, id, digest }: SessionSummary): string {
  return [name, firstWords, cwd, id, digest?.summary ?? ""].join(" ");
}

function lastFolder(path: string, cwd: string): string {
  if (path === "" || path === cwd) return path === "" ? "?" : "here";
  return path.split(/[/\\]/).filter(Boolean).at(-1) ?? path;
}

function factsOf(session: SessionSummary, nowMs: number): string {
  const { digest, lastActivityMs, lines, parentSession } = session;
  return [
    counted(lines, "entry", "entries"),
    bytes(session.bytes),
    `${age(lastActivityMs, nowMs)} (${moment(lastActivityMs, nowMs)})`,
    session.id.slice(0, 8),
    ...(parentSession === undefined ? [] : [forkWords(parentSession)]),
    ...(digest === undefined || digest.fileCount === 0
      ? []
      : [`+${count(digest.added)} −${count(digest.removed)} in ${counted(digest.fileCount, "file")}`]),
  ].join(" · ");
}

function nameFile(file: string, name: string, onNotice: (message: string) => void): void {
  const session = openSession(file, { onNotice: ({ message }) => onNotice(message) });
  try {
    session.append({ type: "session_info", name });
  } finally {
    session.close();
  }
}
