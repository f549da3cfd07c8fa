import type { PageData, PageRows } from "./page-data.ts";

/**
 * A column of texts as one: a hundred thousand strings take a browser ten times as long to read. This file imports nothing
 * that only the program or only the browser has.
 */
export interface TextColumn {
  all: string;
  /** By row, in UTF-16 code units. */
  lengths: number[];
}

/** The data of a page as it is sent. */
export type SentData = Omit<PageData, "rows"> & {
  rows: Omit<PageRows, "ids" | "previews"> & { ids: TextColumn; previews: TextColumn };
};

/** What is said by a session that is followed: everything but rows and requests before `from`, which stay as they were. */
export interface PageUpdate {
  from: number;
  data: SentData;
}

export function sentData({ rows, ...data }: PageData): SentData {
  return { ...data, rows: { ...rows, ids: joined(rows.ids), previews: joined(rows.previews) } };
}

export function readData({ rows, ...data }: SentData): PageData {
  return { ...data, rows: { ...rows, ids: split(rows.ids), previews: split(rows.previews) } };
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
