import { computed, effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { address, goInstead } from "../address.ts";
import { connection, page } from "../page-store.ts";
import { isQuiet, kindOf, rowOf, shownPath } from "../session-tree.ts";
import { type ListControl, onReaderMove, VirtualList } from "../virtual-list.tsx";
import { Entry } from "./entry.tsx";
import { current, type Hit, hits, isFinding, query } from "./find.ts";
import { FindBar } from "./find-bar.tsx";
import { markHits } from "./marks.ts";

/** Labels, masks, hidden texts and other records are shown on demand. */
const showsAll = signal(false);

/** Drawn rows. They always include the row of the address. */
const drawnRows = computed(() => {
  const to = address.value;
  const named = to.view === "entry" ? rowOf.value.get(to.id) : undefined;
  return shownPath.value.filter((row) => showsAll.value || row === named || !isQuiet(row));
});

/** Changes with each address, also with the same one again. */
const arrival = signal(0);
effect(() => {
  address.value;
  arrival.value = arrival.peek() + 1;
});

/** The conversation of a branch. */
export function Transcript() {
  const control = useRef<ListControl | null>(null);
  const section = useRef<HTMLElement>(null);
  const rows = drawnRows.value;
  const to = address.value;
  const scrollTo = (row: number) => {
    const index = drawnRows.peek().indexOf(row);
    if (index >= 0) control.current?.scrollTo(index);
  };
  const followHit = useMarks(section, control);
  useEffect(() => {
    if (to.view !== "entry") return;
    const row = rowOf.peek().get(to.id);
    if (row !== undefined) scrollTo(row);
    // A hit may be far below the beginning of its entry.
    if (row !== undefined) followHit.current(row === current.peek()?.row);
  }, [arrival.value]);
  if (to.view === "entry" && rowOf.value.get(to.id) === undefined)
    return (
      <section class="missing">
        <p>This session has no entry {to.id}.</p>
      </section>
    );
  return (
    <section class="transcript" aria-label="Transcript" ref={section}>
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
          show all records
        </label>
      </div>
      <FindBar
        onGo={({ row }) => {
          const id = page.peek()?.rows.ids[row];
          if (id !== undefined) goInstead({ view: "entry", id });
        }}
      />
      <VirtualList
        label="Entries"
        count={rows.length}
        keyOf={(index) => rows[index]!}
        estimate={(index) => estimates[kindOf(rows[index]!)] ?? 90}
        render={(index) => <Entry row={rows[index]!} />}
        control={control}
        follows={connection.value !== "file"}
      />
      {rows.length === 0 && <p class="quiet">No messages yet.</p>}
    </section>
  );
}

/**
 * Marks the hits in all that is drawn and opened. Keeps the current hit in view while texts around it are read and grow,
 * until the reader looks elsewhere.
 * @returns true brings the current hit into view again, false lets it go
 */
function useMarks(
  section: { current: HTMLElement | null },
  control: { current: ListControl | null },
): { current: (isWanted: boolean) => void } {
  const follow = useRef((_isWanted: boolean) => {});
  useEffect(() => {
    const element = section.current;
    if (element === null) return;
    let frame = 0;
    let shown: Hit | undefined;
    let isFollowed = false;
    const mark = () => {
      const at = markHits(element);
      if (at === undefined || !isFollowed) return;
      control.current?.letGo();
      bringIntoView(at);
    };
    const soon = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(mark);
    };
    follow.current = (isWanted) => {
      isFollowed = isWanted;
      soon();
    };
    const stopLooking = onReaderMove(element, () => {
      isFollowed = false;
    });
    const drawn = new MutationObserver(soon);
    drawn.observe(element, { childList: true, subtree: true, characterData: true });
    const stop = effect(() => {
      query.value;
      hits.value;
      if (current.value !== shown) {
        shown = current.value;
        isFollowed = shown !== undefined;
      }
      soon();
    });
    return () => {
      stop();
      drawn.disconnect();
      cancelAnimationFrame(frame);
      stopLooking();
      follow.current = () => {};
    };
  }, [section, control]);
  return follow;
}

/** In each of the boxes that scroll around it, and in the window. */
function bringIntoView(range: Range): void {
  for (let box = range.startContainer.parentElement; box !== null; box = box.parentElement) {
    const { overflowY, overflowX } = getComputedStyle(box);
    if (!/auto|scroll/.test(overflowY + overflowX)) continue;
    const [outer, inner] = [box.getBoundingClientRect(), range.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom)
      box.scrollTop += inner.top - outer.top - outer.height / 3;
    if (inner.left < outer.left || inner.right > outer.right)
      box.scrollLeft += inner.left - outer.left - outer.width / 3;
  }
  const { top, bottom } = range.getBoundingClientRect();
  if (top < 0 || bottom > innerHeight) scrollBy(0, top - innerHeight / 3);
}

/** Pixels. */
const estimates: Readonly<Record<string, number>> = {
  user: 120,
  assistant: 160,
  result: 90,
  compaction: 220,
};
