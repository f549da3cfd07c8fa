import type { SessionSummary } from "@bonsai-agent/session";
import { age, bytes, count, counted, moment } from "../../views/numbers.ts";
import { forkWords } from "../../views/session-facts.ts";
import type { Theme } from "../terminal/theme.ts";
import { textLines, wholePath } from "./panel-frame.ts";
import type { PickRow } from "./pick-list.ts";

/** A session as the list has it. */
export interface ListedSession extends SessionSummary {
  /** The place in its texts that holds what is looked for. */
  snippet?: string | undefined;
}

export function sessionTitle({ name, firstWords }: SessionSummary): string {
  return name ?? firstWords ?? "(no messages)";
}

/** What a search looks at. */
export function sessionText({ name = "", firstWords = "", cwd, id, digest }: SessionSummary): string {
  return [name, firstWords, cwd, id, digest?.summary ?? ""].join(" ");
}

/**
 * @param look `hasFolders`: sessions of all folders are listed; `inUse`: the file of the session that is open; `isByText`: only
 *   its texts hold what is looked for
 */
export function sessionRow(
  session: ListedSession,
  {
    nowMs,
    hasFolders,
    cwd,
    inUse,
    isByText,
  }: { nowMs: number; hasFolders: boolean; cwd: string; inUse?: string | undefined; isByText: boolean },
): PickRow {
  const when = age(session.lastActivityMs, nowMs);
  const folder = hasFolders ? `${lastFolder(session.cwd, cwd)} · ` : "";
  return {
    label: sessionTitle(session),
    detail: `${session.parentSession === undefined ? "" : "fork · "}${folder}${when}`,
    mark: [...(session.file === inUse ? ["●"] : []), ...(isByText ? ["found in text"] : [])].join(" "),
  };
}

function lastFolder(path: string, cwd: string): string {
  if (path === "" || path === cwd) return path === "" ? "?" : "here";
  return path.split(/[/\\]/).filter(Boolean).at(-1) ?? path;
}

/** What is known of a session without reading it. */
export function sessionPreview(
  session: ListedSession,
  { theme, width, nowMs }: { theme: Theme; width: number; nowMs: number },
): string[] {
  const { name, firstWords, snippet, digest, lastActivityMs, lines, parentSession } = session;
  const { bold, muted, accent } = theme.style;
  const facts = [
    counted(lines, "entry", "entries"),
    bytes(session.bytes),
    `${age(lastActivityMs, nowMs)} (${moment(lastActivityMs, nowMs)})`,
    session.id.slice(0, 8),
    ...(parentSession === undefined ? [] : [forkWords(parentSession)]),
  ];
  const changed =
    digest === undefined || digest.fileCount === 0
      ? []
      : [`+${count(digest.added)} −${count(digest.removed)} in ${counted(digest.fileCount, "file")}`];
  const styled = (text: string, style: (text: string) => string, most: number) =>
    textLines(text, width).slice(0, most).map(style);
  return [
    ...(snippet === undefined ? [] : styled(`“${snippet}”`, accent, 2)),
    ...styled(sessionTitle(session), bold, 1),
    ...(name !== undefined && firstWords !== undefined && firstWords !== name
      ? styled(firstWords, (text) => text, 2)
      : []),
    ...styled([...facts, ...changed].join(" · "), muted, 3),
    ...styled(session.cwd === "" ? "no folder" : wholePath(session.cwd), muted, 1),
    ...(digest === undefined || digest.summary === "" ? [] : styled(digest.summary, muted, 2)),
  ];
}
