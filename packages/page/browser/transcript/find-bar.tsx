import { useEffect, useRef } from "preact/hooks";
import { digits } from "../numbers.ts";
import { current, hitCount, hits, isFinding, progress, query, step } from "./find.ts";

/** Looks for a text in all of the branch, folded parts included. */
export function FindBar({ onGo }: { onGo: (row: number) => void }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isFinding.value) field.current?.select();
  }, [isFinding.value]);
  if (!isFinding.value) return null;
  const go = (by: 1 | -1) => {
    const row = step(by);
    if (row !== undefined) onGo(row);
  };
  const close = () => {
    isFinding.value = false;
    query.value = "";
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
  const place = [...hits.value.keys()].indexOf(current.value);
  const entries = `${digits(hits.value.size)} ${hits.value.size === 1 ? "entry" : "entries"}`;
  const reading = progress.value < 1 ? `, ${Math.floor(progress.value * 100)}% read` : "";
  const at = place < 0 ? "" : `${digits(place + 1)} of `;
  return `${at}${entries}, ${digits(hitCount.value)} in all${reading}`;
}
