import { computed, effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { address, go } from "../address.ts";
import { connection, page } from "../page-store.ts";
import { kindOf, rowOf, shownPath } from "../session-tree.ts";
import { type ListControl, VirtualList } from "../virtual-list.tsx";
import { Entry } from "./entry.tsx";
import { isFinding, markHits } from "./find.ts";
import { FindBar } from "./find-bar.tsx";
import { isPrinting, MOST_PRINTED } from "./print.ts";

/** Kinds that keep the books: shown when they are asked for. */
const quietKinds = new Set(["mask", "label", "leaf", "usage", "custom", "name"]);
const showsAll = signal(false);

/** Rows that are drawn. What the address names is always among them. */
const drawnRows = computed(() => {
  const to = address.value;
  const named = to.view === "entry" ? rowOf.value.get(to.id) : undefined;
  return shownPath.value.filter((row) => showsAll.value || row === named || !quietKinds.has(kindOf(row)));
});

/** Changes with each address, also with the same one again. */
const arrival = signal(0);
effect(() => {
  address.value;
  arrival.value = arrival.peek() + 1;
});

/** The branch as it was said. */
export function Transcript() {
  const control = useRef<ListControl | null>(null);
  const rows = drawnRows.value;
  const to = address.value;
  const scrollTo = (row: number) => {
    const index = drawnRows.peek().indexOf(row);
    if (index >= 0) control.current?.scrollTo(index);
  };
  useEffect(() => {
    if (to.view !== "entry") return;
    const row = rowOf.peek().get(to.id);
    if (row !== undefined) scrollTo(row);
  }, [arrival.value]);
  if (to.view === "entry" && rowOf.value.get(to.id) === undefined)
    return (
      <section class="missing">
        <p>There is no entry {to.id} in this session.</p>
      </section>
    );
  return (
    <section class="transcript" aria-label="Transcript">
      <div class="tools">
        <button
          type="button"
          onClick={() => {
            isFinding.value = true;
          }}
        >
          Find <kbd>/</kbd>
        </button>
        <button type="button" onClick={() => rows.length > 0 && control.current?.scrollTo(0)}>
          Beginning
        </button>
        <button type="button" onClick={() => control.current?.scrollTo(rows.length - 1)}>
          End
        </button>
        <label>
          <input
            type="checkbox"
            checked={showsAll.value}
            onChange={(event) => {
              showsAll.value = event.currentTarget.checked;
            }}
          />{" "}
          labels, masks and records too
        </label>
      </div>
      <FindBar
        onGo={(row) => {
          scrollTo(row);
          const id = page.peek()?.rows.ids[row];
          if (id !== undefined) go({ view: "entry", id });
        }}
      />
      {isPrinting.value ? (
        <Printed rows={rows} />
      ) : (
        <VirtualList
          label="Entries"
          count={rows.length}
          keyOf={(index) => rows[index]!}
          estimate={(index) => estimates[kindOf(rows[index]!)] ?? 90}
          render={(index) => <Entry row={rows[index]!} />}
          control={control}
          follows={connection.value === "live"}
          onDrawn={markHits}
        />
      )}
      {rows.length === 0 && <p class="quiet">Nothing was said yet.</p>}
    </section>
  );
}

/** Pixels. */
const estimates: Readonly<Record<string, number>> = {
  user: 120,
  assistant: 160,
  result: 90,
  compaction: 220,
};

function Printed({ rows }: { rows: readonly number[] }) {
  const shown = rows.slice(-MOST_PRINTED);
  return (
    <div class="printed">
      {shown.length < rows.length && (
        <p>
          The last {shown.length} entries of {rows.length}.
        </p>
      )}
      {shown.map((row) => (
        <Entry key={row} row={row} />
      ))}
    </div>
  );
}
