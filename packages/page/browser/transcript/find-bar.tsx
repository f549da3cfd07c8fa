import { count, counted } from "@bonsai-agent/messages/numbers";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type Hit, hitCount, hits, isFinding, place, progress, query, step } from "./find.ts";

/** Looks for a text in all of the branch, folded parts included. */
export function FindBar({ onGo }: { onGo: (hit: Hit) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const before = useRef<Element | null>(null);
  // Before the next key comes.
  useLayoutEffect(() => {
    if (!isFinding.value) return;
    before.current = document.activeElement;
    field.current?.focus();
    field.current?.select();
  }, [isFinding.value]);
  if (!isFinding.value) return null;
  const go = (by: 1 | -1) => {
    const hit = step(by);
    if (hit !== undefined) onGo(hit);
  };
  const close = () => {
    isFinding.value = false;
    query.value = "";
    // Gives the focus back, unless the list has dropped that element.
    const from = before.current;
    const place =
      from instanceof HTMLElement && from !== document.body && from.isConnected ? from : undefined;
    (place ?? document.getElementById("main"))?.focus();
  };
  return (
    <search class="find">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          go(1);
        }}
      >
        <label for="find-field">Find</label>
        <input
          id="find-field"
          ref={field}
          type="search"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => {
            query.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === "Escape") close();
            if (event.key === "Enter" && event.shiftKey) {
              event.preventDefault();
              go(-1);
            }
          }}
        />
        <output aria-live="polite">{found()}</output>
        <button type="button" onClick={() => go(-1)}>
          Previous
        </button>
        <button type="submit">Next</button>
        <button type="button" onClick={close}>
          Close
        </button>
      </form>
    </search>
  );
}

function found(): string {
  if (query.value === "") return "";
  const reading = progress.value < 1 ? `, ${Math.floor(progress.value * 100)}% searched` : "";
  const total = counted(hitCount.value, "hit");
  const entries = counted(hits.value.size, "entry", "entries");
  const at = place.value === 0 ? "" : `${count(place.value)} of `;
  return `${at}${total} in ${entries}${reading}`;
}
