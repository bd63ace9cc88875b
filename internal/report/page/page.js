'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const $ = (id) => document.getElementById(id);
  const CHUNK = 100;      // items drawn at once
  const WORDS = 300;      // tokens of a line up to which words are compared

  // el makes an element. Texts become text nodes and never markup.
  function el(tag, attrs, ...children) {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attrs || {})) {
      if (v === true) e.setAttribute(k, '');
      else if (v !== false && v != null) e.setAttribute(k, v);
    }
    for (const c of children.flat()) if (c != null) e.append(c);
    return e;
  }
  const svgEl = (tag, attrs, text) => {
    const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [k, v] of Object.entries(attrs)) e.setAttribute(k, v);
    if (text != null) e.textContent = text;
    return e;
  };
  // prose gives a sentence in which what stands between backticks is code.
  function prose(s) {
    return s.split('`').map((part, i, all) => i % 2 && i < all.length - 1 ? el('code', null, part) : (i % 2 ? '`' : '') + part);
  }
  const plural = (n, one) => n === 1 ? '1 ' + one : n.toLocaleString('en') + ' ' + one + 's';
  function unitWords(units) {
    const names = units.map((u) => data.units[u]);
    if (names.length === 1 && names[0] === '.') return ''; // where the reader stands
    if (names.length < 3) return names.join(' and ');
    return 'the same in ' + names.length.toLocaleString('en') + ' units: ' + names[0] + ' and ' + (names.length - 1).toLocaleString('en') + ' more';
  }

  // Diffs: lines, with the words that differ marked in lines that belong together.
  const tokens = (s) => s.match(/\s+|[A-Za-z0-9_]+|[^\sA-Za-z0-9_]/g) || [];
  function words(a, b) {
    const x = tokens(a), y = tokens(b);
    if (x.length > WORDS || y.length > WORDS) return null;
    const n = x.length, m = y.length, t = new Uint16Array((n + 1) * (m + 1));
    for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) {
      t[i * (m + 1) + j] = x[i] === y[j] ? t[(i + 1) * (m + 1) + j + 1] + 1 : Math.max(t[(i + 1) * (m + 1) + j], t[i * (m + 1) + j + 1]);
    }
    let same = 0;
    const left = [], right = [];
    const put = (list, text, marked) => {
      const last = list[list.length - 1];
      if (last && last[1] === marked) last[0] += text; else list.push([text, marked]);
    };
    for (let i = 0, j = 0; i < n || j < m;) {
      if (i < n && j < m && x[i] === y[j]) { if (x[i].trim()) same += x[i].length; put(left, x[i++], false); put(right, y[j++], false); }
      else if (j >= m || i < n && t[(i + 1) * (m + 1) + j] >= t[i * (m + 1) + j + 1]) put(left, x[i++], true);
      else put(right, y[j++], true);
    }
    const longest = Math.max(a.trim().length, b.trim().length);
    return same * 4 < longest ? null : [left, right];
  }
  const marked = (parts, tag) => parts.map(([text, m]) => m ? el(tag, null, text) : text);

  // rows pairs the lines of a diff: each row is [left, right], either may be null.
  function rows(text) {
    const out = [], lines = text.replace(/\n$/, '').split('\n');
    for (let i = 0; i < lines.length;) {
      if (lines[i][0] !== '-' && lines[i][0] !== '+') {
        out.push({ at: lines[i].startsWith('@@'), l: lines[i], r: lines[i] });
        i++;
        continue;
      }
      const del = [], add = [];
      while (i < lines.length && lines[i][0] === '-') del.push(lines[i++].slice(1));
      while (i < lines.length && lines[i][0] === '+') add.push(lines[i++].slice(1));
      out.push({ del, add });
    }
    return out;
  }
  function diffView(text, split, name) {
    const body = el('tbody');
    const mark = (s) => el('td', { class: 'm', 'aria-hidden': 'true' }, s);
    const spoken = (s) => el('span', { class: 'skip' }, s);
    for (const row of rows(text)) {
      if (!row.del) {
        const line = row.at ? row.l : row.l.slice(1);
        if (row.at) body.append(el('tr', { class: 'at' }, el('td', { colspan: split ? 4 : 2 }, line)));
        else if (split) body.append(el('tr', null, mark(''), el('td', { class: 't' }, line), mark(''), el('td', { class: 't' }, line)));
        else body.append(el('tr', null, mark(''), el('td', null, line)));
        continue;
      }
      const left = [], right = [];
      for (let i = 0; i < Math.max(row.del.length, row.add.length); i++) {
        const a = row.del[i], b = row.add[i];
        const pair = a != null && b != null ? words(a, b) : null;
        if (a != null) left.push(pair ? marked(pair[0], 'del') : [a]);
        if (b != null) right.push(pair ? marked(pair[1], 'ins') : [b]);
      }
      if (split) {
        for (let i = 0; i < Math.max(left.length, right.length); i++) {
          const l = left[i], r = right[i];
          body.append(el('tr', null,
            mark(l ? '−' : ''), l ? el('td', { class: 't del' }, l) : el('td', { class: 't none' }),
            mark(r ? '+' : ''), r ? el('td', { class: 't add' }, r) : el('td', { class: 't none' })));
        }
      } else {
        for (const l of left) body.append(el('tr', { class: 'del' }, mark('−'), el('td', null, spoken('removed: '), l)));
        for (const r of right) body.append(el('tr', { class: 'add' }, mark('+'), el('td', null, spoken('added: '), r)));
      }
    }
    return el('div', { class: split ? 'diff split' : 'diff', tabindex: 0, role: 'group', 'aria-label': 'difference in ' + name },
      el('table', { role: 'presentation' }, body));
  }

  // The picture of a rollout: who answers, step by step.
  function rolloutView(f) {
    const x = f.rollout, total = Math.max(x.before, ...x.steps.map((s) => s[0] + s[1]));
    const answering = (s) => (x.old ? s[0] : 0) + (x.new ? s[1] : 0);
    const steps = [null, ...x.steps]; // the first is the time before the merge
    const each = Math.max(1, Math.ceil(total / 280)); // pods of one dot
    // On a phone the parts stand one below the other, so that their texts can be read.
    const narrow = window.innerWidth < 640;
    const W = narrow ? 400 : 720, columns = narrow ? 24 : 28, dot = 10, gap = 4;
    const dotRows = (n) => Math.max(1, Math.ceil(Math.ceil(n / each) / columns));
    const most = [x.before, Math.max(...x.steps.map((s) => s[1]))];
    const podsX = narrow ? 8 : 270, top = narrow ? 108 : 30, oldH = dotRows(most[0]) * (dot + gap), newY = top + oldH + 46, newH = dotRows(most[1]) * (dot + gap);
    const chartY = newY + newH + (narrow ? 78 : 26), labelY = narrow ? newY + newH + 10 : chartY, chartH = 54, H = chartY + chartH + 26;
    const svg = svgEl('svg', { viewBox: `0 0 ${W} ${H}`, class: narrow ? 'narrow' : '', role: 'img', 'aria-label': 'who answers for ' + f.name + ' while ' + x.workload + ' rolls out: the sentence below says it for each step' });
    const midOld = top + oldH / 2, midNew = newY + newH / 2, serviceY = narrow ? 32 : (midOld + midNew) / 2;
    const edges = narrow ? [
      svgEl('path', { d: `M40 ${serviceY + 26} L 40 ${top - 26}` }),
      svgEl('path', { d: `M150 ${serviceY} C 440 ${serviceY}, 450 ${newY - 15}, 210 ${newY - 15}` }),
    ] : [
      svgEl('path', { d: `M150 ${serviceY} C 205 ${serviceY}, 205 ${midOld}, ${podsX - 12} ${midOld}` }),
      svgEl('path', { d: `M150 ${serviceY} C 205 ${serviceY}, 205 ${midNew}, ${podsX - 12} ${midNew}` }),
    ];
    svg.append(...edges, svgEl('rect', { x: 8, y: serviceY - 26, width: 142, height: 52, rx: 8, class: 'box' }),
      svgEl('text', { x: 79, y: serviceY - 4, 'text-anchor': 'middle' }, f.kind), svgEl('text', { x: 79, y: serviceY + 14, 'text-anchor': 'middle', class: 'small' }, f.name.length > 22 ? f.name.slice(0, 21) + '…' : f.name));
    const titles = [svgEl('text', { x: podsX, y: top - 10 }), svgEl('text', { x: podsX, y: newY - 10 })];
    svg.append(...titles);
    const dots = [0, 1].map((g) => Array.from({ length: Math.ceil(most[g] / each) }, (_, i) => {
      const px = podsX + (i % columns) * (dot + gap), py = (g ? newY : top) + Math.floor(i / columns) * (dot + gap);
      const d = g ? svgEl('rect', { x: px, y: py, width: dot, height: dot, rx: 2 }) : svgEl('circle', { cx: px + dot / 2, cy: py + dot / 2, r: dot / 2 });
      svg.append(d);
      return d;
    }));
    const share = (n) => n ? x.before / n : 0;
    const counts = steps.map((s) => s ? answering(s) : x.before);
    const peak = Math.max(...counts.map(share), 1), bw = (W - podsX - 60) / steps.length;
    svg.append(svgEl('text', { x: 8, y: labelY + 14, class: 'small' }, 'traffic of one pod that answers,'), svgEl('text', { x: 8, y: labelY + 30, class: 'small' }, 'against its share before the merge;'), svgEl('text', { x: 8, y: labelY + 46, class: 'small' }, 'red: no pod answers'));
    const bars = steps.map((s, i) => {
      const n = counts[i], h = n ? Math.max(3, share(n) / peak * chartH) : chartH;
      const b = svgEl('rect', { x: podsX + i * bw, y: chartY + chartH - h, width: Math.max(2, bw - 3), height: h });
      svg.append(b);
      return b;
    });
    svg.append(svgEl('text', { x: podsX + bw * steps.length + 6, y: chartY + 12, class: 'small' }, '×' + +peak.toFixed(2)),
      svgEl('text', { x: podsX + bw * steps.length + 6, y: chartY + chartH, class: 'small' }, '×1'),
      svgEl('text', { x: podsX, y: chartY + chartH + 16, class: 'small' }, 'before'),
      svgEl('text', { x: podsX + bw * (steps.length - 1), y: chartY + chartH + 16, class: 'small', 'text-anchor': 'end' }, 'after'));
    const slider = el('input', { type: 'range', min: 0, max: steps.length - 1, value: 0, step: 1 });
    const output = el('output', { 'aria-live': 'polite' });
    function draw() {
      const i = +slider.value, s = steps[i] || [x.before, 0], n = counts[i], first = !steps[i];
      const on = [first || x.old, !first && x.new], hot = share(n) >= 1.5;
      [0, 1].forEach((g) => {
        titles[g].textContent = (g ? 'new pods: ' : narrow ? 'pods from before: ' : 'pods from before the merge: ') + s[g].toLocaleString('en') + ' ready' + (s[g] && !on[g] ? ', out of reach' : '');
        edges[g].setAttribute('class', on[g] && s[g] ? 'edge' : 'edge lost');
        dots[g].forEach((d, k) => d.setAttribute('class', 'pod' + (k * each >= s[g] ? ' gone' : on[g] ? hot ? ' hot' : ' on' : '')));
      });
      bars.forEach((b, k) => b.setAttribute('class', 'bar-share' + (counts[k] ? '' : ' none') + (k === i ? ' now' : '')));
      const moment = first ? 'Before the merge' : i === 1 ? 'At the merge' : i === steps.length - 1 ? 'At the end' : 'Step ' + i + ' of ' + (steps.length - 1);
      const load = n ? n + ' of the ' + plural(s[0] + s[1], 'pod') + (n === 1 ? ' answers' : ' answer') + ', ' + (share(n) > 1.005 || share(n) < 0.995 ? 'each takes ' + +share(n).toFixed(2) + ' times its share' : 'each takes its share') : 'no pod answers: every request fails';
      output.textContent = moment + ': ' + s[0] + ' from before and ' + plural(s[1], 'new pod') + ' ready. ' + load[0].toUpperCase() + load.slice(1) + '.';
      slider.setAttribute('aria-valuetext', output.textContent);
    }
    slider.addEventListener('input', draw);
    const worst = counts.findIndex((n, i) => i > 0 && n && share(n) === peak);
    slider.value = worst > 0 ? worst : 1;
    draw();
    return el('div', { class: 'rollout' }, svg, el('label', null, 'Step', slider), output,
      each > 1 ? el('p', { class: 'muted' }, 'A dot stands for ' + each + ' pods.') : null);
  }

  // Cards.
  const permalink = (id) => el('a', { href: '#' + id, 'aria-label': 'link to this' }, 'link');
  function findingView(f) {
    const rule = data.rules[f.rule];
    const dl = el('dl');
    const say = (title, ...what) => dl.append(el('dt', null, title), el('dd', null, ...what));
    if (f.consequence) say('What happens', prose(f.consequence));
    if (f.advice) say('Instead', prose(f.advice));
    const cards = (f.incidents || []).map((id, n) => [data.incidents[id], (f.reasons || [])[n]]).filter(([i]) => i).map(([i, reason]) => {
      const who = i.org + (i.year ? ', ' + i.year : '');
      return el('div', { class: 'card' },
        el('p', { class: 'who' }, i.url ? el('a', { href: i.url, target: '_blank', rel: 'noopener noreferrer' }, who) : who),
        reason ? el('p', { class: 'muted' }, 'Shown because: ' + reason) : null, el('p', null, i.title), i.impact ? el('p', { class: 'muted' }, i.impact) : null, i.lesson ? el('p', null, 'Lesson: ' + i.lesson) : null);
    });
    if (cards.length) say('Seen before', el('div', { class: 'cards' }, cards));
    if (f.similar) say('More like it', f.similar);
    if (f.related) say('Concerns', f.related.map((r) => [el('code', null, r), ' ']).flat());
    if (rule && rule.doc) say('The rule', el('details', null, el('summary', null, rule.title), rule.doc.split(/\n\s*\n/).map((p) => el('p', null, prose(p.replace(/\s+/g, ' '))))));
    const change = f.change >= 0 ? data.changes[f.change] : null;
    return el('article', { class: 'finding ' + f.severity, id: f.id, tabindex: -1 },
      el('div', { class: 'head' }, el('span', null, { error: '● Error', warning: '▲ Warning', note: '■ Note' }[f.severity]), el('span', { class: 'units' }, unitWords(f.units))),
      el('h3', null, f.kind + ' ', el('code', null, f.name), ': ', prose(f.message)),
      f.hunk ? diffView(f.hunk.join('\n'), false, f.kind + ' ' + f.name) : null,
      f.rollout ? rolloutView(f) : null, dl,
      el('div', { class: 'place' }, el('span', null, f.rule), f.path ? el('span', { class: 'path' }, f.path) : null, f.origin ? el('span', { class: 'path' }, f.origin) : null,
        change ? el('a', { href: '#' + change.id }, 'the whole change') : null, permalink(f.id)));
  }
  const signName = { '+': 'created', '−': 'deleted', '~': 'changed', '±': 'deleted and created again', '→': 'renamed' };
  function changeView(c) {
    const cls = c.a === '+' ? 'add' : c.a === '−' ? 'del' : 'mod';
    const grave = (c.e || []).filter((e) => e.g);
    const details = el('details', { class: 'change', id: c.id },
      el('summary', null,
        el('span', { class: 'sign ' + cls, role: 'img', 'aria-label': signName[c.a] || 'changed' }, c.a), el('span', { class: 'what' }, c.k + ' ' + c.n),
        c.worst ? el('span', { class: 'badge ' + c.worst }, c.worst) : null,
        grave.length ? el('span', { class: 'badge mod' }, grave[0].k) : null,
        el('span', { class: 'why' }, prose(c.s)), el('span', { class: 'where' }, unitWords(c.u) + (c.v ? '; ' + (c.v.length === 1 ? '1 differs' : c.v.length + ' differ') : '') + (c.x ? '; not in ' + c.x.length : ''))));
    details.addEventListener('toggle', () => { if (details.open) fill(details, c); });
    return details;
  }
  function fill(details, c) {
    const old = details.querySelector('.body');
    if (old && old.dataset.split === String(view.split) && old.dataset.noise === String(view.noise)) return;
    if (old) old.remove();
    const body = el('div', { class: 'body', 'data-split': view.split, 'data-noise': view.noise });
    if (c.e) body.append(el('ul', { class: 'effects' }, c.e.map((e) => el('li', { class: e.g ? 'grave' : null }, el('b', null, e.k), ': ' + e.t))));
    if (c.o) body.append(el('p', null, 'Elsewhere with other values:'), el('ul', null, c.o.map((o) => el('li', null, o))));
    if (c.x) body.append(el('p', null, 'No such change beside them: ', c.x.map((u) => [el('code', null, u), ' ']).flat()));
    if (c.d) body.append(diffView(c.d, view.split, c.k + ' ' + c.n));
    if (c.c) body.append(el('p', { class: 'muted' }, 'The diff is too long for this page: prdiff --format json has it.'));
    if (c.h && view.noise) {
      body.append(el('p', null, 'Hidden as noise:'), el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'hidden fields of ' + c.k + ' ' + c.n },
        el('table', { class: 'hidden-fields' }, el('thead', null, el('tr', null, ['field', 'before', 'after', 'filter'].map((h) => el('th', { scope: 'col' }, h)))),
          el('tbody', null, c.h.map((row) => el('tr', null, row.map((x, i) => el('td', null, i < 3 && x ? el('code', null, x) : x))))))));
    } else if (c.h && !c.d) body.append(el('p', { class: 'muted' }, 'All that differs is hidden as noise: press h to see it.'));
    if (c.u.length > 2) body.append(el('details', null, el('summary', null, 'in ' + plural(c.u.length, 'unit')), el('p', null, c.u.map((u) => data.units[u]).join(', '))));
    body.append(el('div', { class: 'place' }, c.l ? el('span', { class: 'path' }, c.l) : null,
      c.f && c.f.join() !== (c.l || '').replace(/:\d+$/, '') ? el('span', null, 'from ' + c.f.join(', ')) : null, (c.r || []).map((i) => el('a', { href: '#' + data.findings[i].id }, data.findings[i].severity + ': ' + data.findings[i].rule)), permalink(c.id)));
    details.append(body);
  }

  // State, filters and lists.
  const view = { q: '', unit: '', kind: '', severity: '', rule: '', noise: false, split: false };
  const rank = { note: 1, warning: 2, error: 3 };
  data.findings.forEach((f, i) => {
    const c = data.changes[f.change];
    if (!c) return;
    (c.r = c.r || []).push(i);
    if (!c.worst || rank[f.severity] > rank[c.worst]) c.worst = f.severity;
  });
  const text = new WeakMap();
  function hay(item, make) {
    let s = text.get(item);
    if (s == null) { s = make().join('\n').toLowerCase(); text.set(item, s); }
    return s;
  }
  const units = (list) => list.map((u) => data.units[u]);
  const findingText = (f) => hay(f, () => [f.kind + ' ' + f.name, f.rule, f.message, f.consequence || '', f.advice || '', f.path || '', f.origin || '', ...(f.hunk || []), ...units(f.units)]);
  const changeText = (c) => hay(c, () => [c.k + ' ' + c.n, c.s, c.d || '', c.l || '', ...(c.f || []), ...(c.e || []).map((e) => e.k + ' ' + e.t), ...(c.h || []).flat(), ...units(c.u)]);
  function inUnit(list) {
    if (!view.unit) return true;
    const u = view.unit.toLowerCase();
    return list.some((i) => data.units[i].toLowerCase().includes(u));
  }
  const terms = () => view.q.toLowerCase().split(/\s+/).filter(Boolean);
  function findingPasses(f) {
    return (!view.severity || rank[f.severity] >= rank[view.severity]) && (!view.rule || f.rule === view.rule) && (!view.kind || f.kind === view.kind) &&
      inUnit(f.units) && terms().every((t) => findingText(f).includes(t));
  }
  function changePasses(c) {
    if (c.z && !view.noise) return false;
    if ((view.severity || view.rule) && !(c.r || []).some((i) => (!view.severity || rank[data.findings[i].severity] >= rank[view.severity]) && (!view.rule || data.findings[i].rule === view.rule))) return false;
    return (!view.kind || c.k === view.kind) && inUnit(c.v ? c.u.concat(c.v) : c.u) && terms().every((t) => changeText(c).includes(t));
  }
  // A list draws its items a chunk at a time, the next one when its end comes near.
  function list(box, make) {
    const more = el('button', { type: 'button', class: 'more' }, 'Show more');
    const self = { items: [], drawn: 0 };
    const seen = new IntersectionObserver((entries) => { if (entries.some((e) => e.isIntersecting)) self.draw(self.drawn + CHUNK); }, { rootMargin: '600px' });
    more.addEventListener('click', () => self.draw(self.drawn + CHUNK));
    self.show = (items) => {
      seen.disconnect();
      self.items = items;
      self.drawn = 0;
      box.replaceChildren();
      self.draw(CHUNK);
    };
    // jump draws the surroundings of one far down, and a button for what is before.
    self.jump = (i) => {
      const start = Math.max(0, i - 10), before = el('button', { type: 'button', class: 'more' }, 'Show the ' + start.toLocaleString('en') + ' before');
      before.addEventListener('click', () => self.show(self.items));
      self.drawn = start;
      box.replaceChildren(before);
      self.draw(start + CHUNK);
    };
    self.draw = (n) => {
      n = Math.min(Math.max(n, self.drawn), self.items.length);
      more.remove();
      const part = document.createDocumentFragment();
      for (; self.drawn < n; self.drawn++) part.append(make(self.items[self.drawn]));
      box.append(part);
      seen.disconnect();
      if (self.drawn < self.items.length) { box.append(more); seen.observe(more); }
    };
    return self;
  }
  const findings = $('findings') && list($('findings'), findingView), changes = $('changes') && list($('changes'), changeView);
  function apply() {
    const f = data.findings.filter(findingPasses), c = data.changes.filter(changePasses);
    findings.show(f);
    changes.show(c);
    $('findings-part').hidden = f.length === 0;
    $('changes-part').hidden = c.length === 0;
    $('findings-title').textContent = plural(f.length, 'finding');
    const all = c.reduce((n, x) => n + x.u.length + (x.v || []).length, 0);
    $('changes-title').textContent = plural(all, 'changed object') + (all > c.length ? ', told in ' + c.length.toLocaleString('en') : '');
    const filtered = view.q || view.unit || view.kind || view.severity || view.rule;
    $('count').textContent = filtered ? (f.length + c.length ? plural(f.length, 'finding') + ' and ' + plural(c.length, 'change') + ' match.' : 'Nothing matches.') : '';
    if (c.length <= 3) document.querySelectorAll('#changes > details').forEach((d) => { d.open = true; });
    current = -1;
  }
  function read() {
    view.q = $('q').value.trim();
    view.unit = $('unit').value.trim();
    for (const k of ['kind', 'severity', 'rule']) view[k] = $(k).value;
    view.noise = $('noise').checked;
    view.split = $('split').checked;
  }
  let timer = 0;
  const soon = () => { clearTimeout(timer); timer = setTimeout(() => { read(); apply(); }, 120); };
  const now = () => { clearTimeout(timer); read(); apply(); };
  const drawnByID = () => new Map(changes.items.map((c) => [c.id, c]));
  function redraw() { // the view of diffs that are open
    read();
    const byID = drawnByID();
    document.querySelectorAll('#changes > details[open]').forEach((d) => fill(d, byID.get(d.id)));
  }
  function clear() {
    for (const k of ['q', 'unit', 'kind', 'severity', 'rule']) $(k).value = '';
    now();
  }

  // Going from one to the next, and links to one.
  let current = -1;
  const shown = () => document.querySelectorAll('#findings > article, #changes > details');
  function focusOn(node) {
    document.querySelectorAll('.current').forEach((n) => n.classList.remove('current'));
    node.classList.add('current');
    (node.querySelector(':scope > summary') || node).focus({ preventScroll: true });
    node.scrollIntoView({ block: 'start' });
  }
  function step(by) {
    let nodes = shown();
    const at = Math.max(0, current + by);
    if (at >= nodes.length && changes.drawn < changes.items.length) changes.draw(changes.drawn + CHUNK);
    nodes = shown();
    if (!nodes.length) return;
    current = Math.min(at, nodes.length - 1);
    focusOn(nodes[current]);
  }
  function goTo(id) {
    const find = () => [findings.items.findIndex((f) => f.id === id), changes.items.findIndex((c) => c.id === id)];
    if (!data.findings.some((f) => f.id === id) && !data.changes.some((c) => c.id === id)) return;
    if (Math.max(...find()) < 0) {
      const c = data.changes.find((x) => x.id === id);
      if (c && c.z) $('noise').checked = true;
      clear();
    }
    const [f, c] = find();
    if (f >= 0 && findings.drawn <= f) findings.draw(f + 1);
    if (c > changes.drawn + CHUNK) changes.jump(c);
    else if (c >= 0) changes.draw(c + 1);
    if (c >= 0 && !$(id)) changes.jump(c); // it is before what is drawn
    const node = $(id);
    if (!node) return;
    if (node.tagName === 'DETAILS') { node.open = true; fill(node, changes.items[c]); }
    current = [...shown()].indexOf(node);
    focusOn(node);
  }
  const fromHash = () => { if (location.hash.length > 2) goTo(decodeURIComponent(location.hash.slice(1))); };

  if (!findings) return;
  const sorted = (xs) => [...new Set(xs)].sort((a, b) => a < b ? -1 : a > b ? 1 : 0);
  const options = (id, values) => $(id).append(...values.map((v) => el('option', { value: v }, v)));
  options('kind', sorted([...data.changes.map((c) => c.k), ...data.findings.map((f) => f.kind)]));
  options('rule', sorted(data.findings.map((f) => f.rule)));
  options('units', data.units.slice(0, 1000));
  $('bar').hidden = false;
  $('bar').addEventListener('submit', (e) => e.preventDefault());
  for (const id of ['q', 'unit']) $(id).addEventListener('input', soon);
  for (const id of ['kind', 'severity', 'rule', 'noise']) $(id).addEventListener('change', now);
  $('split').addEventListener('change', redraw);
  $('clear').addEventListener('click', clear);
  $('keys').addEventListener('click', () => $('help').showModal());
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && e.target.type !== 'checkbox' && e.target.type !== 'range';
    if (typing) {
      if (e.key === 'Escape') e.target.blur();
      return;
    }
    if ($('help').open) return;
    const open = () => { const n = shown()[current]; if (n && n.tagName === 'DETAILS') n.open = !n.open; };
    const flip = (id, then) => { $(id).checked = !$(id).checked; then(); };
    const keys = {
      j: () => step(1), k: () => step(-1), o: open, '/': () => { $('q').focus(); $('q').select(); },
      s: () => flip('split', redraw), h: () => flip('noise', now), c: clear, '?': () => $('help').showModal(),
    };
    if (!keys[e.key]) return;
    e.preventDefault();
    keys[e.key]();
  });
  window.addEventListener('hashchange', fromHash);
  window.addEventListener('beforeprint', () => {
    findings.draw(500);
    changes.draw(500);
    const byID = drawnByID();
    document.querySelectorAll('#changes > details').forEach((d) => { d.open = true; fill(d, byID.get(d.id)); });
    document.querySelectorAll('details.fold').forEach((d) => { d.open = true; });
  });
  apply();
  fromHash();
})();
