"""Two hundred names that lead out of a folder, or try to."""

UP = ".. ../ ..\\ %2e%2e/ ..%2f %2e%2e%2f ..%5c ..%255c ..%c0%af ....// ..;/ ．．/ ‥/".split()
TARGETS = ["etc/passwd", "etc/passwd\0.corml", "windows/win.ini", "proc/self/environ", "dial.corml", "root/.ssh/id_rsa"]
ODD = (
    "/etc/passwd|\\etc\\passwd|//etc/passwd|file:///etc/passwd|http://127.0.0.1/|C:\\windows|~/.ssh|/dev/zero|"
    "/dev/fd/0|/proc/self/mem|a/b|a\\b|a\0b|\0|| |.|..|...|.hidden|-rf|dial.corml\n|dial.corml\r|dial.corml |"
    " dial.corml|dial.corml/|dial.corml/.|./dial.corml|dial\t|dial．corml|ｄial.corml|dial.cörml|$HOME|${HOME}|"
    "`id`|$(id)|a;b|a&b|a*|a?|[a]|_x|x:y|x@y|x%00|x%2f|\u202ex|\ufeffx|\u2215etc\u2215passwd|con:|nul\0"
).split("|")
TRAVERSALS = [up * depth + target for up in UP for depth in (1, 3) for target in TARGETS] + [*ODD, "a|b", "x" * 65]
