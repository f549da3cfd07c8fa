import { batch, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { ChunkPlace, Comparison, EntryBody, PageData, PageRows, PageUpdate } from "../src/page-data.ts";
import { follow } from "./follow.ts";

/** The shown session; undefined until it was read. Owner of the page's data. */
export const page = signal<PageData | undefined>(undefined);
/** Changes when the page shows another or a rewritten session. */
export const generation = signal(0);
/** State of a followed session; `unread` while its program cannot read it. */
export const connection = signal<"file" | "live" | "unread" | "lost">("file");

/** Requested chunks, the latest last. The oldest are dropped. */
const opened = new Map<string, Promise<EntryBody[]>>();
/** Chunks that have arrived. */
const read = new WeakMap<Promise<EntryBody[]>, EntryBody[]>();
const MAX_OPENED = 64;

/** Reads the data from the page or from the program that serves it, and follows a served session. */
export async function loadPage(): Promise<void> {
  const element = document.getElementById("data");
  if (element !== null) {
    page.value = (await inflate(element)) as PageData;
    return;
  }
  ({ data: page.value, revision } = (await fetchJson("data")) as PageUpdate);
  connection.value = "live";
  follow({
    onChanged: () => void update(),
    onConnection: (isThere) => {
      connection.value = isThere ? "live" : "lost";
    },
  });
}

/** The program's reading of the session that the rows are from. */
let revision = 0;

const RETRY_MS = 1_000;
let isStale = false;
let isUpdating = false;

/** Reads new entries, one request at a time. Repeats after a change in between or a failure. */
async function update(): Promise<void> {
  isStale = true;
  if (isUpdating) return;
  isUpdating = true;
  while (isStale) {
    isStale = false;
    try {
      await readOn();
      if (connection.peek() === "unread") connection.value = "live";
    } catch {
      // A program that comes back reports changes again.
      if (connection.peek() === "lost") break;
      connection.value = "unread";
      isStale = true;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
  isUpdating = false;
}

async function readOn(): Promise<void> {
  const known = page.peek()!;
  const { rows, session } = known;
  const count = rows.ids.length;
  const last = rows.ids.at(-1) ?? "";
  const asked = new URLSearchParams({ from: `${count}`, session: session.id, last, revision: `${revision}` });
  const { from, data, revision: latest } = (await fetchJson(`data?${asked}`)) as PageUpdate;
  revision = latest;
  const columns = Object.entries(rows).map(([name, column]) => [
    name,
    [...column.slice(0, from), ...data.rows[name as keyof PageRows]],
  ]);
  batch(() => {
    // Another session, or a rewritten one.
    if (from < count || data.session.id !== session.id) {
      opened.clear();
      generation.value += 1;
    }
    page.value = {
      ...data,
      requests: [...known.requests.filter(({ row }) => row < from), ...data.requests],
      rows: Object.fromEntries(columns) as PageRows,
    };
  });
}

/** The entry of a row in full. */
export async function body(row: number): Promise<EntryBody> {
  const chunks = page.peek()?.chunks ?? [];
  const number = chunkOf(row);
  const place = chunks[number];
  if (place === undefined) return { parts: [] };
  const key = keyOf(place);
  const bodies = opened.get(key) ?? openChunk(number, key);
  void bodies.then((all) => read.set(bodies, all)).catch(() => opened.delete(key));
  opened.delete(key);
  opened.set(key, bodies);
  for (const oldest of opened.keys()) {
    if (opened.size <= MAX_OPENED) break;
    opened.delete(oldest);
  }
  return (await bodies)[row - place.first] ?? { parts: [] };
}

/** The entry of a row in full, if it was read already. */
function bodyNow(row: number): EntryBody | undefined {
  const place = page.peek()?.chunks[chunkOf(row)];
  const bodies = place === undefined ? undefined : opened.get(keyOf(place));
  return bodies === undefined ? undefined : read.get(bodies)?.[row - place!.first];
}

const unloaded: EntryBody = { parts: [{ type: "error", text: "This entry could not be loaded." }] };

const RELOAD_MS = 2_000;

/** An entry in full; undefined until it was read. */
export function useBody(row: number): EntryBody | undefined {
  const [read, setRead] = useState<{ row: number; body: EntryBody }>();
  useEffect(() => {
    let isWanted = true;
    let again: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      const found = await body(row).catch(() => undefined);
      if (!isWanted) return;
      setRead({ row, body: found ?? unloaded });
      // The program that serves the page can be unable to read for a while.
      if (found === undefined && connection.peek() !== "file") again = setTimeout(ask, RELOAD_MS);
    };
    void ask();
    return () => {
      isWanted = false;
      clearTimeout(again);
    };
  }, [row]);
  return read?.row === row ? read.body : bodyNow(row);
}

function keyOf({ first, count }: ChunkPlace): string {
  return `${first}-${count}`;
}

/** The number of the chunk that contains a row; -1 for none. */
function chunkOf(row: number): number {
  return (page.peek()?.chunks ?? []).findLastIndex(({ first }) => first <= row);
}

async function openChunk(number: number, key: string): Promise<EntryBody[]> {
  return ((await part(`chunk/${key}`, `chunk-${number}`)) ?? []) as EntryBody[];
}

/** The branch that ends at a row, compared with the session's position. @throws if it cannot be read */
export async function comparison(end: number): Promise<Comparison> {
  const found = await part(`compare/${end}`, `compare-${end}`);
  if (found === undefined) throw new Error(`The page has no comparison with row ${end}.`);
  return found as Comparison;
}

/** A part of the page: from the program that serves it, or from an element of the file; undefined if there is none. */
async function part(path: string, elementId: string): Promise<unknown> {
  if (connection.peek() !== "file") return fetchJson(path);
  const element = document.getElementById(elementId) ?? (await parsed(elementId));
  return element === null ? undefined : inflate(element);
}

/** A long file is shown before all of it was read. */
function parsed(id: string): Promise<HTMLElement | null> {
  if (document.readyState === "complete") return Promise.resolve(document.getElementById(id));
  return new Promise((resolve) => {
    const look = () => {
      const element = document.getElementById(id);
      if (element === null && document.readyState !== "complete") setTimeout(look, 50);
      else resolve(element);
    };
    look();
  });
}

async function fetchJson(path: string): Promise<unknown> {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

async function inflate(element: HTMLElement): Promise<unknown> {
  if (element.getAttribute("type") === "application/json") return JSON.parse(element.textContent);
  const characters = atob(element.textContent);
  const bytes = new Uint8Array(characters.length);
  // An iterator would take a second for a long session.
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = characters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}
