import { useEffect, useState } from "preact/hooks";
import type { EntryBody } from "../src/page-data.ts";
import { body, bodyNow } from "./page-store.ts";

const nothing: EntryBody = { parts: [{ type: "error", text: "This part of the page could not be read." }] };

/** An entry in full; undefined until it was read. */
export function useBody(row: number): EntryBody | undefined {
  const [read, setRead] = useState<{ row: number; body: EntryBody }>();
  useEffect(() => {
    let isWanted = true;
    body(row).then(
      (found) => isWanted && setRead({ row, body: found }),
      () => isWanted && setRead({ row, body: nothing }),
    );
    return () => {
      isWanted = false;
    };
  }, [row]);
  return read?.row === row ? read.body : bodyNow(row);
}
