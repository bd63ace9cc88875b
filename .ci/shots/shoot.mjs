// Takes pictures of reports: of each comment as GitHub shows it, and of each page.
//
//   node shoot.mjs MODULES REPORTS PICTURES
//
// REPORTS holds NAME.md and NAME.html. A comment goes through a renderer of GitHub's
// Markdown and then through GitHub's own rules of what HTML may stand in a comment
// (hast-util-sanitize carries them); that they take anything out of ours is an error.
import { createRequire } from 'node:module';
import { readFileSync, readdirSync, writeFileSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, reports, pictures] = process.argv.slice(2).map((p) => resolve(p));
const require = createRequire(join(modules, 'package.json'));
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);
// Packages that are modules alone are found by their folder.
const loadModule = async (name, file) => import(pathToFileURL(join(modules, 'node_modules', name, file)).href);
const { unified } = await loadModule('unified', 'index.js');
const remarkParse = (await loadModule('remark-parse', 'index.js')).default;
const remarkGfm = (await loadModule('remark-gfm', 'index.js')).default;
const remarkRehype = (await loadModule('remark-rehype', 'index.js')).default;
const rehypeRaw = (await loadModule('rehype-raw', 'index.js')).default;
const { default: rehypeSanitize, defaultSchema } = await loadModule('rehype-sanitize', 'index.js');
const { toHtml } = await loadModule('hast-util-to-html', 'index.js');
const puppeteer = (await load('puppeteer-core')).default;
const css = (name) => readFileSync(join(modules, 'node_modules', 'github-markdown-css', name), 'utf8');
const script = (name) => readFileSync(join(modules, 'node_modules', name), 'utf8');

const wrong = [];

// texts and elements of a tree, but comments, which GitHub hides.
const inventory = (tree) => {
  const out = [];
  const walk = (n) => {
    if (n.type === 'element') out.push(`<${n.tagName} ${Object.entries(n.properties).map(([k, v]) => `${k}=${v}`).sort().join(' ')}>`);
    if (n.type === 'text' && n.value.trim()) out.push(n.value);
    (n.children || []).forEach(walk);
  };
  walk(tree);
  return out;
};

function render(name, markdown) {
  const md = unified().use(remarkParse).use(remarkGfm).use(remarkRehype, { allowDangerousHtml: true }).use(rehypeRaw);
  const tree = md.runSync(md.parse(markdown));
  const before = inventory(tree);
  const clean = unified().use(rehypeSanitize, defaultSchema).runSync(tree);
  const after = inventory(clean);
  for (let i = 0; i < Math.max(before.length, after.length); i++) {
    if (before[i] !== after[i]) {
      wrong.push(`${name}: the sanitizer makes ${JSON.stringify(after[i])} of ${JSON.stringify(before[i])}`);
      break;
    }
  }
  return toHtml(alerts(clean));
}

// alerts does what GitHub does after it has sanitized.
function alerts(tree) {
  const walk = (n) => {
    (n.children || []).forEach(walk);
    const p = n.tagName === 'blockquote' && n.children.find((c) => c.tagName === 'p');
    const text = p && p.children[0];
    const m = text && text.type === 'text' && /^\[!(CAUTION|WARNING)\]\s*/.exec(text.value);
    if (!m) return;
    text.value = text.value.slice(m[0].length);
    n.tagName = 'div';
    n.properties = { className: ['markdown-alert', 'markdown-alert-' + m[1].toLowerCase()] };
    n.children.unshift({ type: 'element', tagName: 'p', properties: { className: ['markdown-alert-title'] },
      children: [{ type: 'text', value: m[1][0] + m[1].slice(1).toLowerCase() }] });
  };
  walk(tree);
  return tree;
}

// A comment stands in a box of GitHub's, on a phone nearly as wide as the screen.
function comment(body, dark) {
  return `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>${css(dark ? 'github-markdown-dark.css' : 'github-markdown-light.css')}
body { margin: 0; padding: 8px; background: ${dark ? '#0d1117' : '#fff'}; }
article { max-width: 860px; margin: 0 auto; padding: 12px 16px; border: 1px solid ${dark ? '#3d444d' : '#d1d9e0'}; border-radius: 6px; box-sizing: border-box; }
.markdown-body { font-size: 14px; }
.ins { color: ${dark ? '#aff5b4' : '#116329'}; background: ${dark ? '#033a16' : '#dafbe1'}; } .del { color: ${dark ? '#ffdcd7' : '#82071e'}; background: ${dark ? '#67060c' : '#ffebe9'}; }
</style><article class="markdown-body">${body}</article>`;
}

// The pictures of the README, and what of the whole they show.
const forReadme = {
  'grafana-comment-1280-light': ['comment', { width: 876 }],
  'grafana-comment-390-dark': ['comment-phone', {}],
  'grafana-page-1280-light': ['page', { x: 90, width: 1100, height: 1340 }],
};

const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || 'chromium', headless: true, args: ['--no-sandbox', '--disable-gpu', '--hide-scrollbars'] });
mkdirSync(pictures, { recursive: true });
const sizes = [];
const only = process.env.PRDIFF_SHOTS ? process.env.PRDIFF_SHOTS.split(' ') : null; // some of them, while working on one
const names = readdirSync(reports).filter((f) => f.endsWith('.md')).map((f) => f.slice(0, -3)).filter((n) => !only || only.includes(n)).sort();
for (const name of names) {
  const body = render(name, readFileSync(join(reports, name + '.md'), 'utf8'));
  for (const width of [390, 1280]) {
    for (const scheme of ['light', 'dark']) {
      for (const kind of ['comment', 'page']) {
        const tab = await browser.newPage();
        tab.on('pageerror', (e) => wrong.push(`${name} ${kind}: ${e.message}`));
        await tab.setViewport({ width, height: 844, deviceScaleFactor: 1, isMobile: width < 600 });
        await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
        if (kind === 'comment') {
          const file = join(pictures, 'comment.html');
          writeFileSync(file, comment(body, scheme === 'dark'));
          await tab.goto(pathToFileURL(file).href);
          await tab.evaluate(() => document.querySelectorAll('code.language-diff').forEach((c) => {
            const lines = c.textContent.split('\n');
            c.replaceChildren(...lines.flatMap((l, i) => {
              const s = document.createElement('span');
              s.textContent = l;
              if (l[0] === '+') s.className = 'ins';
              if (l[0] === '-') s.className = 'del';
              return i + 1 < lines.length ? [s, '\n'] : [s];
            }));
          }));
          if (await tab.$('code.language-mermaid')) {
            await tab.addScriptTag({ content: script('mermaid/dist/mermaid.min.js') });
            await tab.evaluate(async (theme) => {
              mermaid.initialize({ startOnLoad: false, securityLevel: 'strict', theme });
              for (const [i, c] of [...document.querySelectorAll('code.language-mermaid')].entries()) {
                const { svg } = await mermaid.render('graph' + i, c.textContent);
                const box = document.createElement('div');
                box.innerHTML = svg;
                c.parentElement.replaceWith(box);
              }
            }, scheme === 'dark' ? 'dark' : 'default');
          }
        } else {
          await tab.goto(pathToFileURL(join(reports, name + '.html')).href);
          await tab.waitForFunction(() => !document.getElementById('bar') || !document.getElementById('bar').hidden);
        }
        const height = await tab.evaluate(() => {
          const box = document.querySelector('article.markdown-body');
          return box ? Math.ceil(box.getBoundingClientRect().bottom) + 8 : document.documentElement.scrollHeight;
        });
        const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
        if (wide > width) wrong.push(`${name} ${kind}: ${wide} px wide on a screen of ${width}`);
        if (kind === 'comment' && scheme === 'light' && width === 390) sizes.push([name, height]);
        // What is out of sight is not drawn: the screen is made as high as the picture.
        await tab.setViewport({ width, height: Math.max(844, Math.min(height, 4000)), deviceScaleFactor: 1, isMobile: width < 600 });
        await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        await tab.screenshot({ path: join(pictures, `${name}-${kind}-${width}-${scheme}.png`), clip: { x: 0, y: 0, width, height: Math.min(height, 4000) } });
        const [as, picture] = forReadme[`${name}-${kind}-${width}-${scheme}`] || [];
        if (as) await tab.screenshot({ path: join(pictures, `readme-${as}.png`), clip: { x: 0, y: 0, width, height, ...picture } });
        await tab.close();
      }
    }
  }
}
await browser.close();

// Two screens of a phone for the incidents that prdiff was made for.
for (const [name, height] of sizes) {
  console.log(`${name}: ${height} px high on a phone, ${(height / 844).toFixed(1)} screens`);
  if (['grafana', 'datadog', 'buildkite'].includes(name) && height > 2 * 844) wrong.push(`${name}: the comment takes ${height} px of a phone, and two screens have 1688`);
}
for (const w of wrong) console.error('wrong: ' + w);
process.exitCode = wrong.length ? 1 : 0;
