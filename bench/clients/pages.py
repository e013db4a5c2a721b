"""Where results are shown: the machine in words, and tables put into a page of the documentation."""
import os
import platform


def check_marks(path, name):
    """(page, begin, end): before hours are spent on measuring, it is sure that the tables have a place."""
    page = path.read_text()
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if begin not in page or end not in page:
        raise SystemExit(f"{path} has no {begin} … {end}")
    return page, begin, end


def write_between(path, name, text):
    """Puts text between `<!-- NAME -->` and `<!-- end of NAME -->` of a page."""
    page, begin, end = check_marks(path, name)
    path.write_text(f"{page[:page.index(begin) + len(begin)]}\n{text.strip()}\n{page[page.index(end):]}")


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, load average {os.getloadavg()[0]:.2f} at the start"
