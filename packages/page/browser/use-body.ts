import { useEffect, useState } from "preact/hooks";
import type { EntryBody } from "../src/page-data.ts";
import { body, bodyNow, connection } from "./page-store.ts";

const nothing: EntryBody = { parts: [{ type: "error", text: "This entry could not be loaded." }] };

const AGAIN_MS = 2_000;

/** An entry in full; undefined until it was read. */
export function useBody(row: number): EntryBody | undefined {
  const [read, setRead] = useState<{ row: number; body: EntryBody }>();
  useEffect(() => {
    let isWanted = true;
    let again: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      const found = await body(row).catch(() => undefined);
      if (!isWanted) return;
      setRead({ row, body: found ?? nothing });
      // What is served can be gone for a while.
      if (found === undefined && connection.peek() !== "file") again = setTimeout(ask, AGAIN_MS);
    };
    void ask();
    return () => {
      isWanted = false;
      clearTimeout(again);
    };
  }, [row]);
  return read?.row === row ? read.body : bodyNow(row);
}
