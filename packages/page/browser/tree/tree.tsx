import { useEffect, useRef } from "preact/hooks";
import { address, linkTo } from "../address.ts";
import { digits } from "../numbers.ts";
import { page } from "../page-store.ts";
import { kindOf, labelOf } from "../session-tree.ts";
import { type ListControl, VirtualList } from "../virtual-list.tsx";
import { type Filter, filter, filters, type OutlineLine, outline, wanted } from "./outline.ts";

/** The branches as a drawing. @param isBeside true beside the transcript: narrow, and without a choice of two */
export function Tree({ isBeside = false }: { isBeside?: boolean }) {
  const control = useRef<ListControl | null>(null);
  const lines = outline.value;
  const id = isBeside ? "side" : "tree";
  const to = address.value;
  const shown = to.view === "entry" ? to.id : undefined;
  useEffect(() => {
    const at = lines.findIndex(({ row }) => page.peek()!.rows.ids[row] === shown);
    if (at >= 0 && isBeside) control.current?.scrollTo(Math.max(0, at - 3));
  }, [shown]);
  return (
    <section class="tree" aria-label={isBeside ? "Tree beside the transcript" : "Tree"}>
      <div class="tools">
        <label for={`${id}-filter`}>Show</label>
        <select
          id={`${id}-filter`}
          value={filter.value}
          onChange={(event) => {
            filter.value = event.currentTarget.value as Filter;
          }}
        >
          {filters.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <label for={`${id}-search`}>Search</label>
        <input
          id={`${id}-search`}
          type="search"
          value={wanted.value}
          autocomplete="off"
          onInput={(event) => {
            wanted.value = event.currentTarget.value;
          }}
        />
        <output>{digits(lines.length)}</output>
      </div>
      <VirtualList
        label="Branches"
        count={lines.length}
        keyOf={(index) => lines[index]!.row}
        estimate={() => LINE_PIXELS}
        render={(index) => <Line line={lines[index]!} isBeside={isBeside} isShown={shown} />}
        control={control}
      />
      {lines.length === 0 && <p class="quiet">Nothing here is like that.</p>}
    </section>
  );
}

const LINE_PIXELS = 30;
const LANE_PIXELS = 14;

function Line({
  line,
  isBeside,
  isShown,
}: {
  line: OutlineLine;
  isBeside: boolean;
  isShown: string | undefined;
}) {
  const { row, isActive } = line;
  const { ids, previews } = page.value!.rows;
  const id = ids[row]!;
  const label = labelOf.value.get(row);
  const kind = kindOf(row);
  return (
    <div class={`line${isActive ? " active" : ""}`}>
      <Lanes line={line} />
      <a
        href={linkTo({ view: "entry", id })}
        aria-current={id === isShown ? "true" : undefined}
        class={`to ${kind.replace(" ", "-")}`}
      >
        <span class="kind">{kind}</span> {label !== undefined && <span class="label">{label}</span>}{" "}
        <span class="preview">{previews[row]}</span>
        {isActive && <span class="hidden"> (on the branch that is shown)</span>}
      </a>
      {!isBeside && <Choice id={id} />}
    </div>
  );
}

/** Chooses an entry to compare with another. */
function Choice({ id }: { id: string }) {
  const leaf = page.value!.rows.ids[page.value!.leaf];
  return (
    <a class="quiet" href={linkTo({ view: "compare", a: id, ...(leaf !== undefined && { b: leaf }) })}>
      compare<span class="hidden"> this entry with the session's position</span>
    </a>
  );
}

function Lanes({ line }: { line: OutlineLine }) {
  const { lane, lanes, from } = line;
  const width = (Math.max(...lanes, lane) + 1) * LANE_PIXELS;
  const x = (at: number) => at * LANE_PIXELS + LANE_PIXELS / 2;
  const middle = LINE_PIXELS / 2;
  return (
    <svg width={width} height={LINE_PIXELS} aria-hidden="true">
      {lanes.map((at) =>
        at === lane && from !== undefined ? null : (
          <line key={at} x1={x(at)} x2={x(at)} y1={0} y2={LINE_PIXELS} />
        ),
      )}
      {from !== undefined && (
        <path d={`M${x(from)} 0 Q${x(from)} ${middle} ${x(lane)} ${middle} V${LINE_PIXELS}`} />
      )}
      <circle cx={x(lane)} cy={middle} r={4} />
    </svg>
  );
}
