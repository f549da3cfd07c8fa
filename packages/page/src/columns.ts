import type { PageData, PageRequest, PageRows } from "./page-data.ts";

/**
 * How a page's data is sent: in columns, for a hundred thousand strings or objects take a browser several times as long to
 * read as one text and a list of numbers. This file imports nothing that only the program or only the browser has.
 */
export type SentData = Omit<PageData, "rows" | "requests"> & {
  rows: Omit<PageRows, "ids" | "previews"> & { ids: TextColumn; previews: TextColumn };
  requests: RequestColumns;
};

/** Header of an answer: counts how often the program has read the session from its beginning. */
export const REVISION_HEADER = "Page-Revision";

/** Changes of a followed session: all data without the rows and requests before `from`. */
export interface PageUpdate {
  from: number;
  data: SentData;
}

interface TextColumn {
  all: string;
  /** By row, in UTF-16 code units. */
  lengths: number[];
}

type TokenName = "input" | "cacheRead" | "cacheWrite" | "output";

interface RequestColumns extends Record<"row" | "model" | "compaction" | "from" | TokenName, number[]> {
  costUsd: Array<number | null>;
  /** By price class; 0 where nothing is known of the request. */
  costs: Record<TokenName, number[]>;
  /** For the requests that have hidden rows. */
  hidden: Array<[at: number, rows: number[]]>;
  overflows: number[];
}

export function sentData({ rows, requests, ...data }: PageData): SentData {
  const sentRows = { ...rows, ids: joined(rows.ids), previews: joined(rows.previews) };
  return { ...data, rows: sentRows, requests: requestColumns(requests) };
}

export function readData({ rows, requests, ...data }: SentData): PageData {
  const readRows = { ...rows, ids: split(rows.ids), previews: split(rows.previews) };
  return { ...data, rows: readRows, requests: requestsOf(requests) };
}

function joined(texts: readonly string[]): TextColumn {
  return { all: texts.join(""), lengths: texts.map(({ length }) => length) };
}

function split({ all, lengths }: TextColumn): string[] {
  let end = 0;
  return lengths.map((length) => {
    end += length;
    return all.slice(end - length, end);
  });
}

function requestColumns(requests: readonly PageRequest[]): RequestColumns {
  const column = (value: (request: PageRequest) => number) => requests.map(value);
  const costs = (name: TokenName) => column((request) => request.costs?.[name] ?? 0);
  return {
    row: column(({ row }) => row),
    model: column(({ model }) => model),
    compaction: column(({ view }) => view.compaction),
    from: column(({ view }) => view.from),
    ...byToken((name) => column((request) => request[name])),
    costUsd: requests.map(({ costUsd }) => costUsd),
    costs: byToken(costs),
    hidden: requests.flatMap(({ view: { hidden } }, at) => (hidden === undefined ? [] : [[at, hidden]])),
    overflows: requests.flatMap(({ isOverflow }, at) => (isOverflow ? [at] : [])),
  };
}

function requestsOf(columns: RequestColumns): PageRequest[] {
  const requests = columns.row.map((row, at): PageRequest => {
    const costUsd = columns.costUsd[at]!;
    return {
      row,
      model: columns.model[at]!,
      ...byToken((name) => columns[name][at]!),
      costUsd,
      ...(costUsd !== null && { costs: byToken((name) => columns.costs[name][at]!) }),
      view: { compaction: columns.compaction[at]!, from: columns.from[at]! },
    };
  });
  for (const [at, rows] of columns.hidden) requests[at]!.view = { ...requests[at]!.view, hidden: rows };
  for (const at of columns.overflows) requests[at]!.isOverflow = true;
  return requests;
}

function byToken<Value>(value: (name: TokenName) => Value): Record<TokenName, Value> {
  return {
    input: value("input"),
    cacheRead: value("cacheRead"),
    cacheWrite: value("cacheWrite"),
    output: value("output"),
  };
}
