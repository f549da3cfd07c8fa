import { trashFolder } from "../../call/session-file.ts";
import { errorLine } from "../../views/error-text.ts";
import { age, bytes, count, counted, moment } from "../../views/numbers.ts";
import { forkWords } from "../../views/session-facts.ts";
import { oneLine } from "../../views/terminal-text.ts";
import type { Screen } from "../terminal/screen.ts";
import { askText, askYes } from "./ask.ts";
import type { ListedSession, ListedSessions } from "./listed-sessions.ts";
import { textLines, wholePath } from "./panel-frame.ts";
import { PickList, type PickRow, showList } from "./pick-list.ts";

interface PickSessionOptions {
  screen: Screen;
  sessions: ListedSessions;
  /** Bonsai's folder, which has the trash. */
  home: string;
  cwd: string;
  now: () => number;
  /** The key of the open session: it can be named but not deleted. */
  inUse?: string | undefined;
  query?: string;
  nameInUse?: (name: string) => Promise<void>;
}

/**
 * Lets the user choose a recorded session of this folder or of all folders, by name, first words, folder or any text in it.
 * The list also renames and deletes sessions.
 * @returns undefined if the user left the list
 */
export function pickSession(options: PickSessionOptions): Promise<ListedSession | undefined> {
  return showList(options.screen, (done) => new SessionPicker(options, done).list);
}

/** One or two letters are in every session. */
const TOO_SHORT = /^[\0-\x7f]{0,2}$/;
/** Owner of the listed sessions and of the search in their texts. */
class SessionPicker {
  readonly list: PickList<ListedSession>;
  readonly #options: PickSessionOptions;
  #isEverywhere = false;
  #sessions: readonly ListedSession[] = [];
  #skipped = 0;
  #readings = 0;
  #isReading = false;
  /** The found texts of a query, by the session's key. */
  #snippets: ReadonlyMap<string, string> = new Map();
  #searched = "";
  /** Sessions that the search still has to index. */
  #unindexed = 0;
  #unread = 0;
  readonly #deleted: { key: string; inTrash: string }[] = [];

  constructor(options: PickSessionOptions, done: (session: ListedSession | undefined) => void) {
    this.#options = options;
    this.list = new PickList<ListedSession>({
      place: options.screen,
      title: "",
      items: [],
      query: options.query,
      key: ({ key }) => key,
      text: sessionText,
      isFound: ({ key }) => this.#searched === this.list.query && this.#snippets.has(key),
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
    this.#reload().catch((error) => this.list.update({ status: errorLine(error) }));
  }

  /** Folder of the listed sessions; undefined for all. */
  get #folder(): string | undefined {
    return this.#isEverywhere ? undefined : this.#options.cwd;
  }

  async #reload(): Promise<void> {
    this.#readings += 1;
    const reading = this.#readings;
    this.#isReading = true;
    try {
      for await (const { sessions, skipped } of this.#options.sessions.list(this.#folder)) {
        // Another folder was chosen meanwhile.
        if (reading !== this.#readings) return;
        this.#sessions = sessions;
        this.#skipped = skipped;
        this.#show();
      }
    } finally {
      if (reading === this.#readings) this.#isReading = false;
    }
    this.#show();
  }

  #show(): void {
    const place = this.#isEverywhere ? "all folders" : wholePath(this.#options.cwd);
    const reading =
      this.#unindexed === 0 ? "" : ` · reading ${counted(this.#unindexed, "session")} not yet indexed…`;
    const unread = Math.max(this.#skipped, this.#unread);
    this.list.update({
      title: `Sessions in ${place}${reading}`,
      empty: this.#isReading
        ? "Reading the list of sessions…"
        : this.#isEverywhere
          ? "No sessions yet."
          : "No sessions in this folder yet. Tab shows all folders.",
      status:
        unread === 0
          ? undefined
          : `${counted(unread, "file")} could not be read as a session. Run \`bonsai session list\` to see which.`,
    });
    this.list.setItems(this.#sessions);
  }

  async #toggleFolders(): Promise<void> {
    this.#isEverywhere = !this.#isEverywhere;
    await this.#reload();
    this.list.searchAgain();
  }

  /** Searches the texts of the sessions. Repeats until the index has all of them. */
  async #search(query: string, signal: AbortSignal): Promise<void> {
    this.#snippets = new Map();
    this.#searched = query;
    this.#unindexed = 0;
    this.#unread = 0;
    this.#show();
    if (TOO_SHORT.test(query.trim())) return;
    const limit = Math.max(1, this.#sessions.length);
    const findings = this.#options.sessions.find(query, { cwd: this.#folder, limit, signal });
    for await (const { snippets, unread, unindexed } of findings) {
      signal.throwIfAborted();
      this.#snippets = snippets;
      this.#unread = unread;
      this.#unindexed = unindexed;
      this.#show();
    }
  }

  #row(session: ListedSession): PickRow {
    const { now, inUse, cwd } = this.#options;
    const isByText = this.#snippets.has(session.key) && !this.list.hasQuery(session);
    const folder = this.#isEverywhere ? `${lastFolder(session.cwd, cwd)} · ` : "";
    const fork = session.parentSession === undefined ? "" : "fork · ";
    const marks = session.key === inUse ? ["●"] : session.owner === undefined ? [] : ["open elsewhere"];
    return {
      label: sessionTitle(session),
      detail: `${fork}${folder}${age(session.lastActivityMs, now())}`,
      mark: [...marks, ...(isByText ? ["found in text"] : [])].join(" "),
    };
  }

  #preview(session: ListedSession, width: number): string[] {
    const { screen, now } = this.#options;
    const { bold, muted, accent } = screen.theme.style;
    const { name, firstWords, digest } = session;
    const snippet = this.#snippets.get(session.key);
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

  async #rename(session: ListedSession): Promise<string | undefined> {
    const { screen, inUse, nameInUse } = this.#options;
    const typed = await askText(screen, {
      title: "Session name",
      message: session.firstWords ?? "",
      value: session.name ?? "",
      placeholder: "no name",
    });
    if (typed === undefined) return undefined;
    const name = oneLine(typed);
    let notices: string[] = [];
    if (session.key === inUse && nameInUse !== undefined) await nameInUse(name);
    else notices = await this.#options.sessions.rename(session, name);
    await this.#reload();
    return notices.length > 0 ? notices.join(" ") : undefined;
  }

  async #delete(session: ListedSession): Promise<string | undefined> {
    const { screen, home, sessions, inUse } = this.#options;
    if (session.key === inUse)
      return "This session is open. Open another session first, then delete this one.";
    const trash = wholePath(trashFolder(home));
    const isSure = await askYes(screen, {
      title: "Delete this session?",
      message: `${sessionTitle(session)}\n\n${sessions.deletes} ${trash}. Bonsai never empties this folder.`,
    });
    if (!isSure) return undefined;
    this.#deleted.push({ key: session.key, inTrash: await sessions.delete(session) });
    await this.#reload();
    return `Moved to ${trash}. Press Ctrl-Z to restore it.`;
  }

  /** Restores the session that was deleted last in this list. */
  async #restore(): Promise<string> {
    const latest = this.#deleted.at(-1);
    if (latest === undefined) return "There is no deleted session to restore.";
    await this.#options.sessions.restore(latest);
    this.#deleted.pop();
    await this.#reload();
    this.list.select(latest.key);
    return "Restored the session.";
  }
}

function sessionTitle({ name, firstWords }: ListedSession): string {
  return name ?? firstWords ?? "(no messages)";
}

function sessionText({ name = "", firstWords = "", cwd, id, digest }: ListedSession): string {
  return [name, firstWords, cwd, id, digest?.summary ?? ""].join(" ");
}

function lastFolder(path: string, cwd: string): string {
  if (path === "" || path === cwd) return path === "" ? "?" : "here";
  return path.split(/[/\\]/).filter(Boolean).at(-1) ?? path;
}

function factsOf(session: ListedSession, nowMs: number): string {
  const { digest, lastActivityMs, lines, parentSession } = session;
  return [
    counted(lines, "entry", "entries"),
    bytes(session.bytes),
    `${age(lastActivityMs, nowMs)} (${moment(lastActivityMs, nowMs)})`,
    session.id.slice(0, 8),
    ...(session.owner === undefined ? [] : [`open in ${session.owner}`]),
    ...(parentSession === undefined ? [] : [forkWords(parentSession)]),
    ...(digest === undefined || digest.fileCount === 0
      ? []
      : [`+${count(digest.added)} −${count(digest.removed)} in ${counted(digest.fileCount, "file")}`]),
  ].join(" · ");
}
